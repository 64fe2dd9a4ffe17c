"""A type of group: what the rest of the core may know of a group without knowing its type.

Kafka 4 has several kinds of group under one name: the classic one (JoinGroup and SyncGroup, an assignor in a client), consumer groups
(KIP-848, an assignor in the coordinator), share groups (KIP-932), streams groups (KIP-1071). An id belongs to one group of one type at a
time. Commits, retention, deletion, listing, moves of the coordinator and the journal speak of any type: they use this class and nothing
else. In Kafka: org.apache.kafka.coordinator.group.Group.

A type is a folder beside `classic/` with a subclass of `GroupType`, a line in `registry.TYPES`, and the APIs that are its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

import msgspec

if TYPE_CHECKING:
    from groupmock_codec.messages.k15_describe_groups import DescribedGroup

    from ..log.topics import Topics
    from ..turn import Turn
    from .causes import Why
    from .offsets.committed import At, CommittedOffsets, Offset
    from .view import GroupView


Base = Callable[["Offset"], int]
"""From which time (ms since 1970) the age of a committed offset counts."""


class Committer(msgspec.Struct, frozen=True):
    """The committer of offsets: generation or member epoch, and ids, as the request gives them (-1, "" and None below v1)."""

    generation: int
    member_id: str
    group_instance_id: str | None

    @property
    def named(self) -> bool:
        """Does it claim to be a member?"""
        return self.generation >= 0 or bool(self.member_id) or self.group_instance_id is not None


NOBODY: Final = Committer(-1, "", None)
"""The committer of a request that names neither a member nor a generation."""


class Home(Protocol):
    """The home of groups: the partitions of the offsets topic, whose logs keep what groups remember."""

    topics: Topics

    def largest_batch(self, partition: int) -> int:
        """Bytes of one batch in that partition, as configs are now (seen on 4.3.0 and 3.9.1: a change at run time counts at once)."""


class GroupMember(Protocol):
    """A member of any group, as rows tell of it."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str


class GroupType:
    """A group of any type. An instance is a group, a subclass a type of them. (`ABC` is no base, because every request asks for the type
    of a group, and that question is five times as dear then; mypy looks for what a subclass lacks.)

    `generation`: what the type counts its rebalances by (KIP-848: the group epoch). `epoch`: of leases, see `end_leases`.
    `stored`: the last group record in the log, in the type's own form. `static_members`: instance id -> member id.
    `protocol_type`, `protocol_name` and `leader_id` are null where the type has none.
    """

    __slots__ = ("epoch", "offsets")

    group_type: ClassVar[str]
    """The type as ListGroups writes it (Kafka's Group.GroupType)."""
    may_follow: ClassVar[Mapping[str, Collection[str]]]
    """State -> the states that may come next, in the order in which they are told of."""
    timers: ClassVar[tuple[str, ...]]
    """Names (core.timers.NAMES) of the timers that the type sets for the group's id, and perhaps more."""
    follows_topics: ClassVar[bool]
    """Is `topic_changed` for it? (A topic that is made costs nothing for each group that does not care.)"""

    group_id: str
    partition: int
    home: Home
    state: str
    epoch: int
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None
    members: Mapping[str, GroupMember]
    static_members: Mapping[str, str]
    offsets: CommittedOffsets
    stored: Any

    @classmethod
    @abstractmethod
    def begin(cls, turn: Turn, home: Home, group_id: str, partition: int) -> Self:
        """A new group without members."""

    def end_leases(self) -> None:
        """Let no heartbeat be repeated any more that was answered until now (effects.Lease).

        The driver repeats an answer unasked while the epoch stands. That is right only as long as the core would answer the same, and
        would move the same live timer: so changes of the group end leases, and so do a session timer that is spent and a hold or freeze
        that wants to see the heartbeat. One epoch for the whole group: changes are rare, heartbeats are not.
        """
        self.epoch += 1

    # -- what others ask -----------------------------------------------------------------------------------------------

    @abstractmethod
    def is_empty(self) -> bool:
        """Has it no members, and nobody on the way in that keeps it from being swept or replaced?"""

    @abstractmethod
    def admit_commit(self, turn: Turn, by: Committer, version: int, at: Collection[At]) -> int:
        """The code of an OffsetCommit by them for those partitions."""

    @abstractmethod
    def admit_transactional_commit(self, turn: Turn, by: Committer, at: Collection[At]) -> int:
        """The code of a TxnOffsetCommit by them for those partitions. It is no sign of life."""

    def admit_fetch(self, member_id: str | None, epoch: int) -> int:
        """The code of an OffsetFetch v9 or later by that member at that epoch; who names nobody (None, -1) may read everything."""
        return 0

    @abstractmethod
    def admit_deletion(self) -> int:
        """The code of DeleteGroups (Kafka's validateDeleteGroup); at 0 the registry deletes the group."""

    @abstractmethod
    def admit_offset_deletion(self) -> int:
        """The code of OffsetDelete as far as it concerns the group (Kafka's validateOffsetDelete)."""

    @abstractmethod
    def subscribed_to(self, topic: str) -> bool:
        """Is the topic in use, so that its offsets neither expire nor may be deleted (SERVER-56)?"""

    @abstractmethod
    def offsets_age_from(self) -> Base | None:
        """From when an offset's age counts; None: nothing expires now (Kafka's offsetExpirationCondition)."""

    def unread_names(self) -> int:
        """How many names `subscribed_to` would have to read first; what it reads it keeps (core.budget)."""
        return 0

    def described(self, turn: Turn) -> DescribedGroup | None:
        """Return the group for DescribeGroups, or None if the type has a description of its own and DescribeGroups does not find it
        (KIP-848)."""
        return None

    @abstractmethod
    def view(self) -> GroupView:
        ...

    def silent(self, now: int) -> dict[str, int | None]:
        """Member id -> ns since its last sign of life; None while it waits for an answer that counts as one. {}: the type does not say."""
        return {}

    def progress_of(self, member_id: str) -> str | None:
        """How far a member is with what the coordinator wants it to have (KIP-848); None: nobody, or the type has no such thing."""
        return None

    @abstractmethod
    def invariants(self) -> None:
        """Raise AssertionError, naming the broken invariant, unless all hold."""

    # -- what happens to it --------------------------------------------------------------------------------------------

    @abstractmethod
    def fire(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        """One of its `timers` fired, which was set for its id and the rest of `subject`. True: that did something."""

    @abstractmethod
    def topic_changed(self, turn: Turn, topic: str) -> None:
        """A topic was created, has grown or is gone: news for a type whose coordinator assigns (KIP-848), where it `follows_topics`."""

    @abstractmethod
    def store(self, turn: Turn) -> None:
        """Write the group record: `stored` is what a load brings back."""

    @abstractmethod
    def restore(self, turn: Turn, stored: Any) -> None:
        """Become, a new group, what a record tells."""

    @abstractmethod
    def loaded(self, turn: Turn) -> None:
        """It was restored and that was told: what it does first."""

    @abstractmethod
    def unload(self, turn: Turn, why: Why) -> None:
        """The coordinator loses the group: whoever waits is told so, every timer stops, and it dies (SERVER-49)."""

    @abstractmethod
    def die(self, turn: Turn, why: Why) -> None:
        """It is deleted: reserved ids and offsets go with it, and its state becomes `DEAD`."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.group_id!r} {self.state} generation {self.generation}, {len(self.members)} members>"
