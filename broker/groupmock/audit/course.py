"""The course of a member of a consumer group (KIP-848), as it knows it: what it said in its heartbeats and what their answers told it.

It begins with the heartbeat of epoch 0 by which it joins, and anew with each other such one. Answers 25 and 110 do not end the member: it
joins again under its own id. Partitions are pairs of a topic's id and a number: a heartbeat has no names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.units import NS_PER_MS

from .subjects import UNKNOWN_MEMBER_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..rounds.embedded import Partitions
    from .subjects import Exchange, Json, Member

JOINING: Final = 0
_NOTE: Final = "course"
FENCED_MEMBER_EPOCH: Final = error_codes.FENCED_MEMBER_EPOCH
OUTSIDE: Final = {UNKNOWN_MEMBER_ID: "UNKNOWN_MEMBER_ID", FENCED_MEMBER_EPOCH: "FENCED_MEMBER_EPOCH"}
"""Answers after which a member owns nothing and has to join again."""


class Course:
    """`joined`: the heartbeat by which it joined last, None if that is older than the journal; `said`: its last heartbeat; `told`: the last
    one that was answered well; `given`: the last one whose answer brought an assignment, and `assigned` that assignment; `owned`: what it
    said last that it owns, None: it is not known; `outside`: the heartbeat in whose answer it heard that it has to join again."""

    __slots__ = ("assigned", "given", "joined", "outside", "owned", "rebalance_ms", "said", "told")

    def __init__(self) -> None:
        self.joined: Exchange | None = None
        self.said: Exchange | None = None
        self.told: Exchange | None = None
        self.given: Exchange | None = None
        self.assigned: Partitions = frozenset()
        self.owned: Partitions | None = None
        self.outside: Exchange | None = None
        self.rebalance_ms = -1

    @property
    def epoch(self) -> int:
        """Return the epoch that the member was told last, or -1 if it is no member."""
        return -1 if self.told is None or self.told.answer is None else int(self.told.answer["member_epoch"])

    @property
    def rebalance_ns(self) -> int:
        """How long it may take to give a partition up; negative: not known."""
        return self.rebalance_ms * NS_PER_MS

    def says(self, x: Exchange) -> None:
        """Note a heartbeat of the member."""
        self.said = x
        if epoch_said(x) == JOINING:
            self.joined, self.told, self.given, self.outside = x, None, None, None
            self.assigned = self.owned = frozenset()
        self.owned = owned_in(x) if x.asked["topic_partitions"] is not None else self.owned
        self.rebalance_ms = max(self.rebalance_ms, int(x.asked["rebalance_timeout_ms"]))

    def hears(self, x: Exchange, answer: Json) -> None:
        """The answer to one; of a heartbeat before its last join it is old news."""
        if self.joined is not None and x.seq < self.joined.seq:
            return
        if epoch_said(x) < JOINING:
            self.told = self.given = self.outside = None
        elif x.error in OUTSIDE:
            self.outside, self.told, self.given = x, None, None
        elif not x.error:
            self.told = x
            if answer["assignment"] is not None:
                self.given, self.assigned = x, assigned_by(answer)


def course_of(member: Member | None) -> Course | None:
    """None: it is nobody known, or no member of a consumer group."""
    found: Course | None = None if member is None else member.notes.get(_NOTE)
    return found


def assigned_to(member: Member, names: Mapping[str, str]) -> Partitions | None:
    """Return what a member of either protocol was assigned last, by the topics' names, or None if that is unknown, or nothing was
    assigned yet."""
    course = course_of(member)
    if course is None:
        return member.told
    return None if course.given is None else with_names(course.assigned, names)


def says(member: Member, x: Exchange) -> None:
    """A heartbeat of a member is part of what is known."""
    member.instance_id = x.asked["instance_id"] or member.instance_id
    member.note(_NOTE, Course).says(x)


def hears(member: Member | None, x: Exchange, answer: Json) -> None:
    """Note an answer to a member's heartbeat."""
    course = course_of(member)
    if course is not None:
        course.hears(x, answer)


def epoch_said(x: Exchange) -> int:
    """The member epoch of a heartbeat: 0 to join, -1 and -2 to leave."""
    return int(x.asked["member_epoch"])


def owned_in(x: Exchange) -> Partitions:
    """Return the partitions that a heartbeat claims; none if it does not name any."""
    return _flat(x.asked["topic_partitions"] or ())


def assigned_by(answer: Json) -> Partitions:
    """Return the partitions that an answer with an assignment assigns."""
    return _flat(answer["assignment"]["topic_partitions"])


def with_names(partitions: Partitions, names: Mapping[str, str]) -> Partitions:
    """The same by the topics' names, by their ids where those are not known."""
    return frozenset((names.get(topic, topic), number) for topic, number in partitions)


def _flat(topics: Iterable[Json]) -> Partitions:
    return frozenset((str(each["topic_id"]), int(number)) for each in topics for number in each["partitions"])
