"""A classic group with members becomes a consumer group, because a member of the consumer protocol joins (CG-170 to CG-172, CG-180).

Nobody stops: every classic member is where it was, at the generation for an epoch, with the partitions that its leader gave it. Requests
that wait are answered 27, and so are Heartbeats as soon as the newcomer has called for another target. In Kafka:
GroupMetadataManager.convertToConsumerGroup, ConsumerGroup.fromClassicGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.embedded.consumer import Assignment, Subscription, decode_assignment, decode_subscription
from groupmock_codec.errors import DecodeError

from ...turn import Turn
from .. import codes
from ..causes import Why
from ..classic import answers
from ..classic.group import Member as ClassicMember
from ..classic.group import lists
from . import membership, timing
from .classic_members import HIGHEST_SUBSCRIPTION
from .group import ClassicSide, Held, Member
from .refusal import Refused
from .type import ConsumerGroup

if TYPE_CHECKING:
    from ..classic.type import ClassicGroup
    from .assignors import Target

ALLOW: Final = ("upgrade", "bidirectional")
CUSTOM: Final = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor "
    "before re-attempting the upgrade"
)


def check(turn: Turn, group: ClassicGroup) -> None:
    """Raises Refused, in Kafka's order (CG-170, CG-180). From its second half on nobody waits in the group."""
    why = _why_not(turn, group)
    if why is not None:
        text = f"Cannot upgrade classic group {group.group_id} to consumer group because {why}."
        raise Refused(codes.GROUP_ID_NOT_FOUND, text)


def _why_not(turn: Turn, group: ClassicGroup) -> str | None:
    if turn.settings.group_consumer_migration_policy not in ALLOW:
        return "online upgrade is disabled"
    if group.protocol_type != "consumer":
        return "the group does not use the consumer embedded protocol"
    if len(group.members) > turn.settings.group_consumer_max_size:
        return "the group size exceeds the consumer group maximum size"
    _refuse_waiting(turn, group)
    chosen = group.protocol_name or ""
    if not all(lists(member.protocols, chosen) for member in group.members.values()):
        # Kafka falls over who does not list what the last generation chose, or over there being none yet
        # (ConsumerGroup.fromClassicGroup, seen on 4.3.0)
        raise Refused(codes.UNKNOWN_SERVER_ERROR, "")
    try:
        given = [_read(member, chosen)[1] for member in group.members.values()]
    except DecodeError:
        return "the embedded consumer protocol is malformed"
    return CUSTOM if any(each.user_data for each in given) else None


def _read(member: ClassicMember, chosen: str) -> tuple[Subscription, Assignment]:
    given = decode_assignment(member.assignment) if member.assignment else Assignment()
    return decode_subscription(member.metadata(chosen)), given


def _refuse_waiting(turn: Turn, group: ClassicGroup) -> None:
    """Whoever waits is told to come again (CG-181), before anything is looked at that may refuse the newcomer: there may be no room."""
    for member in group.members.values():
        _answer(turn, group, member)


def hand_over(turn: Turn, old: ClassicGroup, new: ConsumerGroup, why: Why) -> None:
    """The members of the classic group are the consumer group's, where they were."""
    generation, chosen = old.generation, old.protocol_name or ""
    for name in ("join", "sync"):
        turn.timers.cancel((name, old.group_id))
    found = [_member(new, each, generation, chosen) for each in old.ordered()]
    names = sorted({name for member in found for name in member.names})
    known = {name: topic for name in names if (topic := new.home.topics.get(name)) is not None}
    new.topics = {name: (topic.topic_id, len(topic.partitions)) for name, topic in known.items()}
    new.refill(generation, generation, found, {member.member_id: _target(member.assigned) for member in found})
    for member in found:
        assert member.classic is not None
        timing.renew(turn, new, member, member.classic.session_timeout_ms)
    membership.settle(turn, new, why)


def _answer(turn: Turn, group: ClassicGroup, member: ClassicMember) -> None:
    join = group.park_join(member, None)
    if join is not None and not join.answered:
        turn.reply(join.ticket, answers.join_refused(codes.REBALANCE_IN_PROGRESS, join.version, member.member_id))
    sync, member.sync = member.sync, None
    if sync is not None:
        turn.reply(sync.ticket, answers.sync_refused(codes.REBALANCE_IN_PROGRESS))


def _member(group: ConsumerGroup, old: ClassicMember, generation: int, chosen: str) -> Member:
    said, given = _read(old, chosen)
    assigned: Held = {}
    for topic in given.assigned_partitions:
        topic_id = group.home.topics.topic_id(topic.topic)
        if topic_id is not None:
            assigned |= dict.fromkeys(((topic_id, index) for index in topic.partitions), generation)
    side = ClassicSide(old.protocols, old.session_timeout_ms, min(said.version, HIGHEST_SUBSCRIPTION))
    return Member(
        member_id=old.member_id, group_instance_id=old.group_instance_id, client_id=old.client_id, client_host=old.client_host,
        rack_id=said.rack_id, rebalance_timeout_ms=old.rebalance_timeout_ms, names=frozenset(said.topics), epoch=generation,
        previous_epoch=generation, assigned=assigned, classic=side,
    )  # fmt: skip


def _target(assigned: Held) -> Target:
    found: dict[bytes, list[int]] = {}
    for topic, index in assigned:
        found.setdefault(topic, []).append(index)
    return {topic: tuple(indexes) for topic, indexes in found.items()}
