"""Check that records of share groups are delivered as KIP-932 says. Judged by rows, requests and answers; after every event the invariants
of the core's share partitions are checked too.

A record belongs to one member at most, from its delivery until an acknowledgement, the end of its lock, or a row that says why it is free.
A lock does not end early. Each delivery counts one more than the one before, up to the limit. A record that was accepted, rejected or
archived is never delivered again. An acknowledgement of records that the member has is not refused, and one of records that it does not
have is not accepted. Sources: docs/kafka/share-groups.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock.core.effects import Note
from groupmock.core.environment import NO_HOLDS
from groupmock_codec.api_keys import SHARE_ACKNOWLEDGE, SHARE_FETCH
from groupmock_codec.units import NS_PER_MS

if TYPE_CHECKING:
    from groupmock.core.cluster import Cluster
    from groupmock.core.events import Request

    from .findings import Findings

JUDGE: Final = "share groups"
ACQUIRED, ACKNOWLEDGED, RELEASED = "records_acquired", "records_acknowledged", "records_released"
DONE: Final = ("accepted", "rejected", "gaps", "exhausted")
NOT_STORED: Final = frozenset(("leader_moved", "group_idle", "topic_deleted"))
"""The causes after which a record may have the same delivery count again, because deliveries are not stored (SG-298)."""
Place = tuple[str, str, int]
Spot = tuple[bytes, int]


class Held(NamedTuple):
    """A record that a member has, with its delivery count and the end of its lock (ns)."""

    member: str
    times: int
    lock_ends: int


NOBODY: Final = Held("", 0, 0)


class Free(NamedTuple):
    """A record that is available again, with its delivery count. `certain` says whether the count is stored."""

    times: int
    certain: bool


class FollowedPartition:
    """The records of one partition that a group has had, as rows tell it."""

    def __init__(self) -> None:
        self.held: dict[int, Held] = {}
        self.free: dict[int, Free] = {}
        self.done: set[int] = set()


class ShareJudge:
    """Checks the share groups whose names are in `names`. `limits` and `lock_ms` are those of the run."""

    cluster: Cluster

    def __init__(self, bench: Findings) -> None:
        self.bench = bench
        self.names: frozenset[str] = frozenset()
        self.limits: dict[str, int] = {}
        self.lock_ms = 0
        self.places: defaultdict[Place, FollowedPartition] = defaultdict(FollowedPartition)
        self.untold: defaultdict[tuple[Place, str], list[tuple[int, int, int]]] = defaultdict(list)
        """The runs that a member has acquired by rows, and that no answer has told it yet."""
        self._expected: dict[int, dict[Spot, bool | None]] = {}

    # -- before an entry

    def expects(self, event: Request) -> None:
        """Compute for each partition of a request whether its acknowledgements are to be taken, or None if either may happen."""
        message: Any = event.message
        if event.key not in (SHARE_FETCH, SHARE_ACKNOWLEDGE) or message.group_id not in self.names:
            return
        self._expected[event.ticket] = {
            (topic.topic_id, row.partition_index): self._verdict(event.node, message, topic.topic_id, row)
            for topic in message.topics
            for row in topic.partitions
            if row.acknowledgement_batches
        }

    def _verdict(self, node: int, message: Any, topic_id: bytes, row: Any) -> bool | None:
        name = self.cluster.topics.name_of(topic_id) or ""
        log = self.cluster.topics.find(name, row.partition_index)
        if log is None or log.leader != node:
            return False
        followed = self.places[message.group_id, name, row.partition_index]
        offsets = [offset for batch in row.acknowledgement_batches for offset in range(batch.first_offset, batch.last_offset + 1)]
        owners = {followed.held[offset].member if offset in followed.held else None for offset in offsets}
        if owners == {message.member_id}:
            return True
        # Records below the start offset are done, and are acknowledged without an error any number of times.
        done = all(offset in followed.held or offset in followed.done for offset in offsets)
        return None if done and owners <= {message.member_id, None} else False

    # -- after it

    def happened(self, effect: Any) -> None:
        """Follow the rows about records, and check each change."""
        if not isinstance(effect, Note) or effect.what not in (ACQUIRED, ACKNOWLEDGED, RELEASED):
            return
        fields: dict[str, Any] = effect.fields
        if fields["group"] not in self.names:
            return
        place = fields["group"], fields["topic"], fields["partition"]
        follow = {ACQUIRED: self._acquired, ACKNOWLEDGED: self._acknowledged, RELEASED: self._released}
        follow[effect.what](place, self.places[place], fields)

    def _acquired(self, place: Place, followed: FollowedPartition, fields: dict[str, Any]) -> None:
        member = fields["member_id"]
        for first, last, count in fields["records"]:
            self.untold[place, member].append((first, last, count))
            for offset in range(first, last + 1):
                if (other := followed.held.get(offset)) is not None:
                    self._wrong(place, offset, f"is delivered to {member!r}, and {other.member!r} has it")
                if offset in followed.done:
                    self._wrong(place, offset, f"is delivered to {member!r} after it was done")
                before = followed.free.pop(offset, Free(0, certain=True))
                if count not in (before.times + 1, *(() if before.certain else (before.times,))):
                    self._wrong(place, offset, f"has delivery count {count} after {before.times}")
                if count > self.limits[place[0]]:
                    self._wrong(place, offset, f"is delivered for the {count}th time, and the limit is {self.limits[place[0]]}")
                followed.held[offset] = Held(member, count, fields["lock_ends"])

    def _acknowledged(self, place: Place, followed: FollowedPartition, fields: dict[str, Any]) -> None:
        member = fields["member_id"]
        for offset in _offsets(fields, *DONE):
            self._taken(place, followed, offset, member)
            followed.done.add(offset)
        for offset in _offsets(fields, "released"):
            held = self._taken(place, followed, offset, member)
            if held.times >= self.limits[place[0]]:
                self._wrong(place, offset, f"is available again after its delivery {held.times}, and the limit is {self.limits[place[0]]}")
            followed.free[offset] = Free(held.times, certain=True)
        for offset in _offsets(fields, "renewed"):
            held = self._taken(place, followed, offset, member)
            followed.held[offset] = held._replace(lock_ends=self.bench.now + self.lock_ms * NS_PER_MS)

    def _released(self, place: Place, followed: FollowedPartition, fields: dict[str, Any]) -> None:
        member, cause = fields["member_id"], fields["cause"]
        for offset in _offsets(fields, "available"):
            held = self._taken(place, followed, offset, member)
            if cause == "lock_ended" and held.lock_ends > self.bench.now:
                self._wrong(place, offset, f"loses its lock {(held.lock_ends - self.bench.now) / NS_PER_MS:g} ms early")
            followed.free[offset] = Free(held.times, cause not in NOT_STORED)
        for offset in _offsets(fields, "archived"):
            held = self._taken(place, followed, offset, member) if member else NOBODY
            if member and held.times < self.limits[place[0]]:
                self._wrong(place, offset, f"is archived after its delivery {held.times}, and the limit is {self.limits[place[0]]}")
            followed.held.pop(offset, None)
            followed.free.pop(offset, None)
            followed.done.add(offset)

    def _taken(self, place: Place, followed: FollowedPartition, offset: int, member: str) -> Held:
        """Remove a record from what members have, and check that this one had it."""
        held = followed.held.pop(offset, NOBODY)
        if held.member != member:
            self._wrong(place, offset, f"is taken from {member!r}, and {held.member or 'nobody'!r} has it")
        return held

    def _wrong(self, place: Place, offset: int, text: str) -> None:
        group, topic, partition = place
        self.bench.found(JUDGE, f"record {offset} of {topic}-{partition} in group {group!r} {text}")

    # -- answers

    def answered(self, asked: Request, answer: Any) -> None:
        """Check the records that a member is told, and the results of its acknowledgements."""
        expected = self._expected.pop(asked.ticket, None)
        if expected is None or answer.error_code:
            return
        message: Any = asked.message
        told = {(topic.topic_id, row.partition_index): row for topic in answer.responses for row in topic.partitions}
        for spot, taken in expected.items():
            row = told.get(spot)
            code = None if row is None else row.acknowledge_error_code if asked.key == SHARE_FETCH else row.error_code
            if code is None or (taken is not None and taken != (code == 0) and self.cluster.environment.holds is NO_HOLDS):
                name = self.cluster.topics.name_of(spot[0])
                said = "has no answer" if code is None else f"is answered {code}, and it {'has' if taken else 'does not have'} the records"
                self.bench.found(JUDGE, f"an acknowledgement of {message.member_id!r} for {name}-{spot[1]} {said}")
        if asked.key == SHARE_FETCH:
            for spot, row in told.items():
                self._told(message, spot, row.acquired_records)

    def _told(self, message: Any, spot: Spot, runs: Sequence[Any]) -> None:
        place = message.group_id, self.cluster.topics.name_of(spot[0]) or "", spot[1]
        untold = self.untold[place, message.member_id]
        for run in ((each.first_offset, each.last_offset, each.delivery_count) for each in runs):
            if run not in untold:
                self._wrong(place, run[0], f"is told to {message.member_id!r}, and no row says that it was acquired")
            else:
                untold.remove(run)

    # -- after each event, and in the end

    def look_at_all(self) -> None:
        """Check the invariants of share groups and share partitions."""
        if not self.names:
            return
        try:
            self.cluster.shares.invariants()
            for name in self.names:
                if (group := self.cluster.groups.find(name)) is not None:
                    group.invariants()
        except AssertionError as broken:
            self.bench.found("invariants", str(broken))

    @property
    def in_flight(self) -> str | None:
        """Say which member has a record, or return None if nobody has one."""
        for (group, topic, partition), followed in self.places.items():
            for offset, held in followed.held.items():
                return f"{held.member} of group {group!r} has record {offset} of {topic}-{partition}"
        return None

    def all_told(self) -> None:
        """Check that every record that was acquired was told to its member."""
        for (place, member), runs in self.untold.items():
            for first, _, _ in runs:
                self._wrong(place, first, f"was acquired by {member!r}, and no answer told it")


def _offsets(fields: dict[str, Any], *names: str) -> Iterator[int]:
    runs: Iterable[Sequence[int]] = (run for name in names for run in fields.get(name, ()))
    return (offset for run in runs for offset in range(run[0], run[1] + 1))
