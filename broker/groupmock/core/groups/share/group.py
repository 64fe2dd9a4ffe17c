"""Holds the data of a share group and its members, with the methods that change it. `states` explains the protocol.

Values on which a heartbeat's answer depends are changed by methods of `Group` only, because each of them ends the leases that were given
before (`GroupType.end_leases`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Self

import msgspec

from ...timers import Timer
from ..consumer.group import no_session
from ..consumer.states import JOINING
from ..modern import SubscribedGroup
from ..offsets.committed import CommittedOffsets
from .simple_assignor import NAME
from .states import State

if TYPE_CHECKING:
    from ...turn import Turn
    from ..consumer.assignors import Target
    from ..type import Home, States


NONE: Final[frozenset[int]] = frozenset()


class Member(msgspec.Struct, eq=False, gc=False):
    """A member of a share group. `assigned` has the partitions that it was told. `session` is the timer since the last accepted heartbeat,
    and `session_timeout_ms` the timeout with which it was armed. A share group has no static members."""

    member_id: str
    client_id: str
    client_host: str
    rack_id: str | None = None
    names: frozenset[str] = frozenset()
    epoch: int = JOINING
    previous_epoch: int = -1
    assigned: Target = {}
    session: Timer = msgspec.field(default_factory=no_session)
    session_timeout_ms: int = 0
    group_instance_id: str | None = None


class Initializing(msgspec.Struct, frozen=True):
    """Partitions of a topic whose start offsets are about to be stored, with the group epoch of the heartbeat that asked for it. A start
    offset of -1 means that the first fetch decides, by the group's reset setting (SG-43)."""

    partitions: frozenset[int]
    epoch: int
    start_offset: int


class Group(SubscribedGroup[Member]):
    """The data of a share group; `type.ShareGroup` adds the methods that groups of any type have.

    `initialized` has the partitions whose start offsets are stored, by topic id: only these are assigned. `initializing` has those that the
    background work is about to store in what `states` returns. In Kafka: ShareGroupStatePartitionMetadataInfo."""

    __slots__ = ("_rested_at", "had_states", "initialized", "initializing", "states")

    states: Callable[[], States]

    def __init__(self, home: Home, group_id: str, partition: int) -> None:
        super().__init__(home, group_id, partition, State.EMPTY, "share")
        self.initialized: dict[bytes, frozenset[int]] = {}
        self.initializing: dict[bytes, Initializing] = {}
        self.had_states = False
        """True if start offsets of a partition were stored, or were about to be, whether they are deleted or not."""
        self._rested_at = -1  # The epoch at which nothing was missing in the target, or -1.
        self.offsets = CommittedOffsets()

    @classmethod
    def begin(cls, turn: Turn, home: Home, group_id: str, partition: int) -> Self:
        """Return an empty group whose group epoch is 1."""
        return cls(home, group_id, partition)

    def subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribers

    def present(self) -> str:
        """Return the state that follows from the group's members (SG-54)."""
        return State.STABLE if self.members else State.EMPTY

    def alike(self) -> bool:
        """True if Kafka considers all members to subscribe alike: each name has as many subscribers as there are members (SG-60)."""
        return {len(self.members)}.issuperset(self.subscribers.values())

    @staticmethod
    def held_partitions(member: Member) -> int:
        """Return how many partitions the member has."""
        return sum(map(len, member.assigned.values()))

    def awaits_target(self) -> bool:
        """True if partitions of a subscribed topic are initialised that the target lacks, or the other way round
        (GroupMetadataManager.initializedAssignmentPending)."""
        # Every change of what is compared here is a new epoch. A large group would else compare all partitions at each heartbeat.
        if not self.members or not self.initialized or self._rested_at == self.epoch:
            return False
        given: dict[bytes, frozenset[int]] = {}
        for target in self.targets.values():
            for topic_id, indexes in target.items():
                given[topic_id] = given.get(topic_id, NONE) | frozenset(indexes)
        named = {self.home.topics.topic_id(name) for name in self.subscribers}
        awaits = any(given.get(topic_id, NONE) != indexes for topic_id, indexes in self.initialized.items() if topic_id in named)
        self._rested_at = -1 if awaits else self.epoch
        return awaits

    def enter(self, member: Member) -> None:
        """Add a member, also to the table of members, where it is before the target is computed (SG-57)."""
        self.members[member.member_id] = member
        self.count_names(member, 1)
        self.table.enter(member.member_id)
        self.epoch += 1

    def stay(self) -> None:
        """Put the member that has entered once more into the table, as the records of its heartbeat do."""
        self.table.put_again()

    def drop(self, member: Member) -> None:
        del self.members[member.member_id]
        self.targets.pop(member.member_id, None)
        self.count_names(member, -1)
        self.table.discard(member.member_id)
        self.epoch += 1

    def subscribe(self, member: Member, names: frozenset[str]) -> None:
        self.count_names(member, -1)
        member.names = names
        self.count_names(member, 1)
        self.epoch += 1

    def assign(self, targets: dict[str, Target], now: int) -> None:
        """Store the target that was computed for the present group epoch."""
        assert self.assignment_epoch < self.generation
        self.targets, self.assignment_epoch, self.computed_at, self.protocol_name = targets, self.generation, now, NAME
        self.epoch += 1

    def give(self, member: Member, assigned: Target, epoch: int) -> None:
        """Give the member its partitions at the epoch of the target."""
        if epoch != member.epoch:
            member.previous_epoch, member.epoch = member.epoch, epoch
        member.assigned = assigned
        self.epoch += 1

    def ask_for(self, topic_id: bytes, wanted: Initializing) -> None:
        """Note that the background work is to store the start offsets of partitions."""
        before = self.initializing.get(topic_id)
        partitions = wanted.partitions if before is None else wanted.partitions | before.partitions
        self.had_states = True
        self.initializing[topic_id] = msgspec.structs.replace(wanted, partitions=partitions)

    def initialize(self, topic_id: bytes, partitions: Collection[int]) -> None:
        """Note that start offsets of the partitions are stored."""
        self.had_states = True
        self.initialized[topic_id] = self.initialized.get(topic_id, frozenset()) | frozenset(partitions)
        self.initializing.pop(topic_id, None)
        self.epoch += 1

    def uninitialize(self, topic_id: bytes) -> None:
        """Note that the topic has no stored start offsets any more."""
        self.initialized.pop(topic_id, None)
        self.initializing.pop(topic_id, None)
        self.epoch += 1

    def refill(
        self,
        generation: int,
        assignment_epoch: int,
        members: Iterable[Member],
        targets: dict[str, Target],
        initialized: Mapping[bytes, frozenset[int]],
        had_states: bool,
    ) -> None:
        self.generation, self.assignment_epoch, self.targets = generation, assignment_epoch, targets
        for member in members:
            self.enter(member)
            self.stay()
        self.state = self.present()
        self.had_states = had_states
        self.initialized = {
            topic_id: indexes for topic_id, indexes in initialized.items() if self.home.topics.name_of(topic_id) is not None
        }

    def invariants(self) -> None:
        """Raise AssertionError, naming the broken invariant, unless all hold."""
        from .invariants import INVARIANTS  # This import is late, because a server that only listens does not need it.

        for name, check in INVARIANTS.items():
            assert check(self), f"group {self.group_id!r} in {self.state}: {name}"
