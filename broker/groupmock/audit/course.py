"""Follow a member of a consumer group (KIP-848), a share group (KIP-932) or a streams group (KIP-1071) as its client knows it: the
heartbeats that it sent and the answers that it got.

A course begins with the heartbeat of epoch 0 by which the member joins, and begins anew with each later heartbeat of epoch 0. The answers
UNKNOWN_MEMBER_ID (25) and FENCED_MEMBER_EPOCH (110) do not end the member, because it joins again under its own id. Partitions are pairs of
a topic id and a number, because heartbeats have no topic names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT
from groupmock_codec.units import NS_PER_MS

from .subjects import UNKNOWN_MEMBER_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..rounds.embedded import Partitions
    from .subjects import Exchange, Json, Member

JOINING: Final = 0
BEATS: Final = (CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT)
"""The heartbeats by which members join, follow and leave. Those of a share group have no owned partitions and no instance id, and those of
a streams group have tasks instead of partitions."""
OWNED: Final = ("topic_partitions", "active_tasks", "standby_tasks", "warmup_tasks")
"""The fields of heartbeats that list what a member owns."""
_NOTE: Final = "course"
FENCED_MEMBER_EPOCH: Final = error_codes.FENCED_MEMBER_EPOCH
OUTSIDE: Final = {UNKNOWN_MEMBER_ID: "UNKNOWN_MEMBER_ID", FENCED_MEMBER_EPOCH: "FENCED_MEMBER_EPOCH"}
"""Errors in answers after which a member owns nothing and has to join again."""


class Course:
    """Follows what the client of one member knows. `joined` is the heartbeat with which it last joined (None if older than the journal),
    `said` its last heartbeat, `told` the last heartbeat with a successful answer, `given` the last one whose answer had an assignment of
    partitions, and `assigned` that assignment. `owned` has the partitions that it last claimed (None if unknown), and `outside` is the
    heartbeat whose answer made it join again.

    Of a member of a streams group, `dealt` is the last heartbeat whose answer had tasks, and `runs` and `keeps` have the partitions, by
    topic name, of the active tasks in that answer and in the member's last lists. `reads` maps a subtopology to the topics it reads."""

    __slots__ = ("assigned", "dealt", "given", "joined", "keeps", "outside", "owned", "reads", "rebalance_ms", "runs", "said", "told")

    def __init__(self) -> None:
        self.joined: Exchange | None = None
        self.said: Exchange | None = None
        self.told: Exchange | None = None
        self.given: Exchange | None = None
        self.assigned: Partitions = frozenset()
        self.owned: Partitions | None = None
        self.outside: Exchange | None = None
        self.dealt: Exchange | None = None
        self.runs: Partitions = frozenset()
        self.keeps: Partitions = frozenset()
        self.reads: dict[str, tuple[str, ...]] = {}
        self.rebalance_ms = -1

    @property
    def epoch(self) -> int:
        """Return the member epoch in the last answer, or -1 if the client is not a member."""
        return -1 if self.told is None or self.told.answer is None else int(self.told.answer["member_epoch"])

    @property
    def rebalance_ns(self) -> int:
        """The time that the member may take to give up a partition; negative if unknown."""
        return self.rebalance_ms * NS_PER_MS

    def says(self, x: Exchange) -> None:
        """Note that the client sent a heartbeat."""
        self.said = x
        if epoch_said(x) == JOINING:
            self.joined, self.told, self.given, self.outside = x, None, None, None
            self.assigned = self.owned = self.runs = self.keeps = frozenset()
            self.dealt, self.reads = None, read_by(x.asked.get("topology"))
        self.owned = owned_in(x) if x.asked.get("topic_partitions") is not None else self.owned
        if x.asked.get("active_tasks") is not None:
            self.keeps = self._of_tasks(x.asked["active_tasks"])
        self.rebalance_ms = max(self.rebalance_ms, int(x.asked.get("rebalance_timeout_ms", -1)))

    def hears(self, x: Exchange, answer: Json) -> None:
        """Note that the client got the answer to a heartbeat. An answer to a heartbeat before the member's last join is ignored."""
        if self.joined is not None and x.seq < self.joined.seq:
            return
        if epoch_said(x) < JOINING:
            self.told = self.given = self.outside = None
        elif x.error in OUTSIDE:
            self.outside, self.told, self.given = x, None, None
        elif not x.error:
            self.told = x
            if answer.get("assignment") is not None:
                self.given, self.assigned = x, assigned_by(answer)
            elif answer.get("active_tasks") is not None:
                self.dealt, self.runs = x, self._of_tasks(answer["active_tasks"])

    def _of_tasks(self, tasks: Iterable[Json]) -> Partitions:
        return frozenset(
            (topic, int(number)) for each in tasks for topic in self.reads.get(each["subtopology_id"], ()) for number in each["partitions"]
        )


def course_of(member: Member | None) -> Course | None:
    """Return what the client of a consumer group's member knows, or None for a member of a classic group or no member."""
    found: Course | None = None if member is None else member.notes.get(_NOTE)
    return found


def assigned_to(member: Member, names: Mapping[str, str]) -> Partitions | None:
    """Return the partitions that a member of either protocol was last assigned, with topic names, or None if unknown or not assigned
    yet."""
    course = course_of(member)
    if course is None:
        return member.told
    return None if course.given is None else with_names(course.assigned, names)


def says(member: Member, x: Exchange) -> None:
    """Note a heartbeat of a member of a consumer group."""
    member.instance_id = x.asked.get("instance_id") or member.instance_id
    member.note(_NOTE, Course).says(x)


def hears(member: Member | None, x: Exchange, answer: Json) -> None:
    """Note an answer to a member's heartbeat."""
    course = course_of(member)
    if course is not None:
        course.hears(x, answer)


def epoch_said(x: Exchange) -> int:
    """Return the member epoch in a heartbeat: 0 to join, -1 or -2 to leave."""
    return int(x.asked["member_epoch"])


def owned_in(x: Exchange) -> Partitions:
    """Return the partitions that a heartbeat claims to own; a heartbeat without a list claims none."""
    return _flat(x.asked.get("topic_partitions") or ())


def owns_nothing(x: Exchange) -> bool:
    """Return whether each list of what a member owns is empty in a heartbeat, and none is null."""
    return all(x.asked.get(name, []) == [] for name in OWNED)


def assigns(answer: Json) -> bool:
    """Return whether an answer has an assignment: of partitions, or of tasks in a streams group."""
    return answer.get("assignment") is not None or answer.get("active_tasks") is not None


def assigned_by(answer: Json) -> Partitions:
    """Return the partitions that an answer with an assignment assigns."""
    return _flat(answer["assignment"]["topic_partitions"])


def read_by(topology: Json | None) -> dict[str, tuple[str, ...]]:
    """Return the topics that each subtopology reads: sources and repartition topics."""
    return {
        each["subtopology_id"]: (*each["source_topics"], *(topic["name"] for topic in each["repartition_source_topics"]))
        for each in (topology or {}).get("subtopologies", ())
    }


def with_names(partitions: Partitions, names: Mapping[str, str]) -> Partitions:
    """Return the partitions with the names of their topics, or with topic ids where the name is unknown."""
    return frozenset((names.get(topic, topic), number) for topic, number in partitions)


def _flat(topics: Iterable[Json]) -> Partitions:
    return frozenset((str(each["topic_id"]), int(number)) for each in topics for number in each["partitions"])
