"""The base class of all group types is the interface that the rest of the core uses without knowing the type.

Kafka 4 has several kinds of group under one name: the classic one (JoinGroup and SyncGroup, an assignor in a client), consumer groups
(KIP-848, an assignor in the coordinator), share groups (KIP-932), streams groups (KIP-1071). An id belongs to one group of one type at a
time. Commits, retention, deletion, listing, moves of the coordinator and the journal work with any type through this class only. In Kafka:
org.apache.kafka.coordinator.group.Group.

A type is a folder next to `classic/` with a subclass of `GroupType`, a line in `kinds`, and the APIs that are its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

import msgspec

if TYPE_CHECKING:
    from groupmock_codec.messages.k15_describe_groups import DescribedGroup

    from ..effects import AnyMember
    from ..log.topics import Topics
    from ..turn import Turn
    from .causes import Why
    from .offsets.committed import At, CommittedOffsets, Offset
    from .view import GroupView


Base = Callable[["Offset"], int]
"""A function that returns the time (ms since 1970) from which the age of a committed offset counts."""


class Committer(msgspec.Struct, frozen=True):
    """The sender of an offset commit: generation or member epoch, member id and instance id (-1, "" and None below v1)."""

    generation: int
    member_id: str
    group_instance_id: str | None

    @property
    def named(self) -> bool:
        """True if the request claims to come from a member."""
        return self.generation >= 0 or bool(self.member_id) or self.group_instance_id is not None


NOBODY: Final = Committer(-1, "", None)
"""The committer of a request that names neither a member nor a generation."""


class Home(Protocol):
    """The partitions of the offsets topic, in whose logs the groups are stored."""

    topics: Topics

    def largest_batch(self, partition: int) -> int:
        """Return the size limit of a batch in the partition. A config change at run time counts at once (seen on 4.3.0 and 3.9.1)."""


class States(Protocol):
    """The stored states of share partitions (core/share), which share groups initialize and delete."""

    def initialize(
        self, turn: Turn, group_id: str, topic_id: bytes, partitions: Iterable[int], state_epoch: int, start_offset: int = -1
    ) -> None:
        """Store the start offset of partitions, without records that are done or in flight."""

    def delete(self, turn: Turn, group_id: str, topic_id: bytes | None = None) -> None:
        """Delete the states of a topic, or all states of the group."""


class GroupType:
    """The base class of groups of any type. An instance is a group, and a subclass a type of group. (`ABC` is no base class, because every
    request checks the type of a group, and that check would cost five times as much; mypy finds methods that a subclass lacks.)

    `generation` is the number of the last rebalance (KIP-848: the group epoch), and `epoch` that of leases (see `end_leases`). `stored` is
    the last group record in the log, in the type's own form. `static_members` maps instance ids to member ids. `protocol_type`,
    `protocol_name` and `leader_id` are None if the type has none."""

    __slots__ = ("epoch", "offsets")

    group_type: ClassVar[str]
    """The name of the group type in ListGroups (Kafka's Group.GroupType)."""
    may_follow: ClassVar[Mapping[str, Collection[str]]]
    """Maps each state to the states that may follow it, in the order in which pages show them."""
    timers: ClassVar[tuple[str, ...]]
    """The names of the timers (core.timers.NAMES) that groups of this type set."""
    follows_topics: ClassVar[bool]
    """True if groups of this type need calls of `topic_changed`. (For other types a new topic then costs nothing.)"""

    gives_way: ClassVar[bool] = True
    """True if a group without members is replaced by a classic group that asks for the id, or replaces one (SG-96, SG-98: a share group
    never does)."""

    group_id: str
    partition: int
    home: Home
    state: str
    epoch: int
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None
    members: Mapping[str, AnyMember]
    static_members: Mapping[str, str]
    offsets: CommittedOffsets
    stored: Any

    @classmethod
    @abstractmethod
    def begin(cls, turn: Turn, home: Home, group_id: str, partition: int) -> Self:
        """Return a new group without members."""

    def end_leases(self) -> None:
        """Stop the driver from repeating earlier heartbeat answers of the group, by ending all leases (effects.Lease).

        The driver repeats an answer on its own while the epoch is unchanged. That is right only as long as the core would answer the same,
        and would move the same live timer: so changes of the group end leases, and so do a session timer that has fired and a hold or
        freeze that has to see the heartbeat. There is one epoch for the whole group, because changes are rare and heartbeats are not."""
        self.epoch += 1

    def gives_way_to(self, kind: type[GroupType]) -> bool:
        """True if this group, once it has no members, is replaced by a group of another type that asks for its id. One of the two is then
        a classic group (ST-194, ST-197)."""
        return self.gives_way and kind.gives_way and "classic" in (self.group_type, kind.group_type)

    @abstractmethod
    def is_empty(self) -> bool:
        """True if the group has no members, and no joining client that keeps the group from being deleted or replaced."""

    @abstractmethod
    def admit_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Return the error with which the group refuses an OffsetCommit for these partitions, or 0."""

    @abstractmethod
    def admit_transactional_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """Return the error with which the group refuses a TxnOffsetCommit for these partitions, or 0. It does not renew the session."""

    def admit_fetch(self, member_id: str | None, epoch: int) -> int:
        """Return the error with which the group refuses an OffsetFetch (v9 or later), or 0. A request without a member (None, -1) may
        read everything."""
        return 0

    @abstractmethod
    def admit_deletion(self) -> int:
        """Return the error with which the group refuses DeleteGroups, or 0 (Kafka's validateDeleteGroup). With 0 the registry deletes
        the group."""

    @abstractmethod
    def admit_offset_deletion(self) -> int:
        """Return the error with which the group as a whole refuses OffsetDelete, or 0 (Kafka's validateOffsetDelete)."""

    @abstractmethod
    def subscribed_to(self, topic: str) -> bool:
        """True if a member uses the topic, so that the topic's offsets neither expire nor may be deleted (SERVER-56)."""

    @abstractmethod
    def offsets_age_from(self) -> Base | None:
        """Return the function that gives the time from which the age of a committed offset counts, or None if nothing expires now
        (Kafka's offsetExpirationCondition)."""

    def unread_names(self) -> int:
        """Return how many topic names the next `subscribed_to` has to read, or 0 if they were read before (core.budget)."""
        return 0

    def described(self, turn: Turn) -> Generator[None, None, DescribedGroup] | None:
        """Return the group as DescribeGroups shows it, in steps, or None if DescribeGroups does not find groups of this type (KIP-848)."""
        return None

    @abstractmethod
    def view(self) -> GroupView: ...

    def silent(self, now: int) -> dict[str, int | None]:
        """Return for each member the ns since its session was renewed, or None while the member waits for an answer that renews it. The
        result is {} for a type that does not know."""
        return {}

    def progress_of(self, member_id: str) -> str | None:
        """Return the progress of a member towards its target (KIP-848), or None if the member is unknown or the type has no targets."""
        return None

    @abstractmethod
    def invariants(self) -> None:
        """Raise AssertionError, naming the broken invariant, unless all hold."""

    @abstractmethod
    def fire(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        """Handle a timer of the group, and return True if that had an effect."""

    @abstractmethod
    def topic_changed(self, turn: Turn, topic: str) -> None:
        """Note that a topic was created, deleted, or given more partitions. Only called for types that `follows_topics`."""

    @abstractmethod
    def store(self, turn: Turn) -> None:
        """Write the group record, so that a coordinator that loads the log restores `stored`."""

    @abstractmethod
    def restore(self, turn: Turn, stored: Any) -> None:
        """Fill a new group from its group record."""

    @abstractmethod
    def loaded(self, turn: Turn) -> None:
        """Do what Kafka does with a group right after a coordinator has loaded it."""

    @abstractmethod
    def unload(self, turn: Turn, why: Why) -> None:
        """Refuse the delayed requests of a group whose coordinator moves away, and stop its timers (SERVER-49)."""

    @abstractmethod
    def die(self, turn: Turn, why: Why) -> None:
        """Delete the group with its reserved ids and offsets, and set its state to `DEAD`."""

    def keeps_states_in(self, states: Callable[[], States]) -> None:
        """Note where the states of share partitions are stored, which only share groups have."""

    def deleted(self, turn: Turn) -> None:
        """Delete what the group has stored beside its own records, because the group was deleted."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.group_id!r} {self.state} generation {self.generation}, {len(self.members)} members>"
