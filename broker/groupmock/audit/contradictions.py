"""Notice successful answers that no coordinator can have given, according to earlier rows of the journal.

A journal may have been written or edited by another program, a recording may have mixed up two requests, and a broker under test may be
wrong. Whatever a client does after such an answer says nothing about the client, so the audit no longer judges its connection and group.
Answers with an error are never contradictions, because a fault may refuse anything at any time.
"""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP

from ..journal.rows import ReplyRow
from ..journal.whose import bytes_of
from ..rounds.embedded import told_of
from .course import JOINING, course_of, epoch_said
from .request_contents import epoch_of
from .subjects import Exchange, Json, Link, Member, api_name, protocols_of

SAID: Final = (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT, SYNC_GROUP, HEARTBEAT, OFFSET_COMMIT)
"""The APIs whose answers say something about a member."""


def unasked(link: Link | None, row: ReplyRow) -> str | None:
    """Return what is wrong with an answer to a request that does not wait for one, or None if the request may be older than the
    journal."""
    if link is None or not link.host:
        return None
    return f"it answers {api_name(row.api_key)}, but connection {row.connection} has no such request without an answer"


def contradiction(x: Exchange, row: ReplyRow) -> str | None:
    """Return what is wrong with an answer, or None if it fits its request and the earlier rows."""
    if (row.api_key, row.api_version) != (x.key, x.version):
        return f"it answers {api_name(row.api_key)} {row.api_version}, but its request was {x.name} {x.version}"
    answer, member = x.answer, x.member
    if x.key not in SAID or answer is None or not x.delivered or x.errors:
        return None
    if x.key == JOIN_GROUP:
        return _wrong_join(x, answer)
    if x.key == CONSUMER_GROUP_HEARTBEAT:
        return _wrong_heartbeat(x, answer)
    if member is None:
        return None
    said = epoch_of(x)
    if 0 <= said < member.generation and _came_after(x, member.joined):
        return f"it accepts generation {said}, but the member had been told generation {member.generation}"
    if x.key == SYNC_GROUP and _wrong_assignment(x, member, answer):
        return "its assignment is not the one that the leader sent for the member"
    return None


def _wrong_join(x: Exchange, answer: Json) -> str | None:
    asked_id, given_id, generation = x.asked["member_id"], answer["member_id"], int(answer["generation_id"])
    if asked_id and given_id not in ("", asked_id) and x.asked.get("group_instance_id") is None:
        return "it gives another member id than that of the request"
    if x.member is not None and generation < x.member.generation and _came_after(x, x.member.joined):
        return f"its generation is {generation}, but the member had been told generation {x.member.generation}"
    protocol, members = answer["protocol_name"], {each["member_id"] for each in answer["members"]}
    if protocol and protocol not in protocols_of(x):
        return "its protocol is none that the member listed"
    if members and not given_id == answer["leader"] in members:
        return "it lists the members of the group, but the member is not the leader among them"
    return None


def _wrong_heartbeat(x: Exchange, answer: Json) -> str | None:
    course, said, told = course_of(x.member), epoch_said(x), int(answer["member_epoch"])
    if x.asked["member_id"] and answer["member_id"] not in (None, "", x.asked["member_id"]):
        return "it gives another member id than that of the request"
    if said > JOINING and course is not None and told < course.epoch and _came_after(x, course.told):
        return f"its member epoch is {told}, but the member had been told epoch {course.epoch}"
    return None


def _came_after(x: Exchange, told: Exchange | None) -> bool:
    """Return whether the request was handled after an earlier request had been answered, so that its answer cannot be older news."""
    return told is not None and x.seq > told.answer_seq


def _wrong_assignment(x: Exchange, member: Member, answer: Json) -> bool:
    """Return whether the answer assigns other partitions than the leader did. Once a member has received its assignment the plan stands;
    in a recording nothing says whether a later SyncGroup of the leader was ignored, so only the first answer is compared there."""
    generation = member.group.fold.generation
    if generation is None or generation.number != x.asked["generation_id"] or (generation.planned is None and generation.heard):
        return False
    told, claim = generation.told.get(member.id), generation.claims.get(member.id)
    if told is None or claim is None:
        return False
    return told_of(generation.protocol_type, generation.protocol, bytes_of(answer["assignment"]), claim).assigned != told.assigned

