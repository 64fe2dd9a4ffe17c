"""The data that groups share whose coordinator assigns: members, epochs, and targets (KIP-848, KIP-932, KIP-1071).

In Kafka: org.apache.kafka.coordinator.group.modern.ModernGroup, and streams.StreamsGroup, which has the same fields.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable
from heapq import nsmallest
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

import msgspec

from groupmock_codec import error_codes, group_states

from ..effects import SessionMember
from . import timing
from .consumer.assignors import Spreads, Target
from .consumer.orders import MemberTable, Spot
from .consumer.states import FIRST_EPOCH
from .type import GroupType

if TYPE_CHECKING:
    from ..turn import Turn
    from .causes import Why
    from .consumer.assignors import Subscription
    from .type import Home


M = TypeVar("M", bound=SessionMember)
T = TypeVar("T")


class ModernGroup(GroupType, Generic[M, T]):
    """The epochs and targets of a group. M is the type of its members, and T that of their targets.

    `generation` is the group epoch. `targets` maps member ids to targets. `computed_at` is the time of the last computed target (ns of the
    run), or None if the next one need not wait. `topics` has the used topics at the last bump of the group epoch, name -> (id,
    partitions). `stale` is true if a topic was created, grown or deleted since, or topics were never read."""

    __slots__ = (
        "assignment_epoch", "computed_at", "generation", "group_id", "home", "leader_id", "members", "partition", "protocol_name",
        "protocol_type", "stale", "state", "static_members", "table", "targets", "topics",
    )  # fmt: skip

    own_timers: ClassVar[tuple[str, ...]]
    """The timers of the group itself, not of its members."""
    members: dict[str, M]

    def __init__(self, home: Home, group_id: str, partition: int, state: str, protocol_type: str) -> None:
        self.home = home
        self.group_id = group_id
        self.partition = partition
        self.state: str = state
        self.epoch = 0
        self.generation = FIRST_EPOCH
        self.assignment_epoch = 0
        self.computed_at: int | None = None
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members = {}
        self.static_members: dict[str, str] = {}
        self.table = MemberTable()
        self.targets: dict[str, T] = {}
        self.topics: dict[str, tuple[bytes, int]] = {}
        self.stale = True

    def is_empty(self) -> bool:
        return not self.members

    def admit_deletion(self) -> int:
        return error_codes.NON_EMPTY_GROUP if self.members else error_codes.NONE

    def ordered(self) -> list[M]:
        """Return the members in the order of the coordinator's member table (CG-108)."""
        return [self.members[member_id] for member_id in self.table]

    def silent(self, now: int) -> dict[str, int | None]:
        """Return for each member the ns since its last accepted heartbeat."""
        return {member.member_id: timing.silence(member, now) for member in self.members.values()}

    def die(self, turn: Turn, why: Why) -> None:
        for member_id in self.members:
            timing.stop(turn, self, member_id)
        for timer in self.own_timers:
            turn.timers.cancel((timer, self.group_id))
        self.offsets.clear()
        self.members = {}
        turn.group_moved(self, self.change_state(group_states.DEAD), why)

    @abstractmethod
    def expel(self, turn: Turn, member: M, why: Why) -> None:
        """Remove a member for good."""

    @abstractmethod
    def subscribed_names(self) -> Collection[str]:
        """Return the names of all topics that the group uses, each once."""

    @abstractmethod
    def present(self) -> str:
        """Return the state that follows from the group's epochs and members."""

    def defers(self, turn: Turn, timer: str, subject: tuple[str, ...]) -> bool:
        """True if a timer of the group has to wait until a command releases the group. It is dead until then, and no lease may move it."""
        deferred = turn.environment.holds.defers((timer, *subject), self.group_id, self.state)
        if deferred:
            self.end_leases()
        return deferred

    def change_state(self, state: str) -> str:
        """Change the group's state and return the former state. A transition that does not exist raises AssertionError."""
        before = self.state
        assert state in self.may_follow[before], f"{before} may not become {state}"
        self.state = state
        self.epoch += 1
        return before

    def refresh_topics(self) -> bool:
        """Look up the used topics again, and return True if they changed, so that a new target assignment is needed."""
        before = self.topics
        self.count_topics()
        self.stale = False
        return self.topics is not before and self.topics != before

    def count_topics(self) -> None:
        """Record the present state of the used topics, as Kafka's metadata hash does with every group epoch."""
        if self.stale:
            self.topics = self.as_they_are(self.subscribed_names())

    def as_they_are(self, names: Iterable[str]) -> dict[str, tuple[bytes, int]]:
        """Return the topics among these names that exist: name -> (id, partitions)."""
        found = {}
        for name in names:
            topic = self.home.topics.get(name)
            if topic is not None:
                found[name] = (topic.topic_id, len(topic.partitions))
        return found

    def bump(self) -> None:
        """Raise the group epoch, because a new target assignment is needed."""
        self.generation += 1
        self.epoch += 1

    def seat(self, member_id: str, instead_of: str | None = None) -> None:
        """Add a member to the member table, which gives it its place in the members' order."""
        if instead_of is not None:
            self.table.discard(instead_of)
        self.table.add(member_id)

    def catch_up(self) -> None:
        """Let the assignment epoch of a group without members follow the group epoch, and the next target be computed at once."""
        assert not self.members
        self.assignment_epoch, self.computed_at = self.generation, None


class Subscriber(SessionMember, Protocol):
    """A member with a set of topic names. Members with equal sets share one."""

    names: frozenset[str]


S = TypeVar("S", bound=Subscriber)


class Named(msgspec.Struct):
    """A set of subscribed names, with the number of members that subscribe to exactly these names. `subscription` has the names in the
    form of assignors, as long as the topics do not change, or None if they were not read since."""

    names: frozenset[str]
    members: int = 0
    subscription: Subscription | None = None


class SubscribedGroup(ModernGroup[S, Target]):
    """A group whose members subscribe to topics.

    `recounted` has names that got their first or lost their last subscriber since the topics were read (None: all names are read again).
    `subscribers` counts members by topic name, and `spreads` has hashes of these names. `named` has each set of names that members have.
    `listed_bytes` counts what members keep."""

    __slots__ = ("listed_bytes", "named", "recounted", "spreads", "subscribers")

    def __init__(self, home: Home, group_id: str, partition: int, state: str, protocol_type: str) -> None:
        super().__init__(home, group_id, partition, state, protocol_type)
        self.subscribers: Counter[str] = Counter()
        self.named: dict[frozenset[str], Named] = {}
        self.spreads = Spreads()
        self.recounted: dict[str, None] | None = {}
        self.listed_bytes = 0

    def subscribed_names(self) -> Collection[str]:
        """Return the names of all topics to which a member subscribes, each once."""
        return self.subscribers

    def matched_names(self) -> bool:
        """True if topics are subscribed to otherwise than by their names, so that all have to be read again."""
        return False

    def count_topics(self) -> None:
        """Record the present state of the subscribed topics, as Kafka's metadata hash does with every group epoch. If no topic has
        changed, only new and removed names are read, because a group may have thousands and this runs at each join."""
        known, self.recounted = self.recounted, {}
        if self.stale or known is None or self.matched_names():
            before, self.topics = self.topics, self.as_they_are(self.subscribed_names())
            if self.topics != before:
                self.spreads.clear()
                for named in self.named.values():
                    named.subscription = None
        elif known:
            kept = {name: topic for name, topic in self.topics.items() if name not in known}
            self.topics = kept | self.as_they_are(name for name in known if name in self.subscribers)

    def count_names(self, member: S, step: int) -> None:
        """Count the names of a member that subscribes (`step` is 1) or no longer subscribes (-1)."""
        self.listed_bytes += step * sum(map(len, member.names))
        named = self.named.setdefault(member.names, Named(member.names))
        member.names = named.names
        named.members += step
        if not named.members:
            del self.named[named.names]
        changed = []
        for name in member.names:
            count = self.subscribers[name] + step
            if count:
                self.subscribers[name] = count
            else:
                del self.subscribers[name]
                self.spreads.pop(name, None)
            if count in (0, step):  # The subscribed topics have changed, because this topic has lost its last or got its first subscriber.
                changed.append(name)
        if self.recounted is not None:
            self.recounted.update(dict.fromkeys(changed))


def settle(turn: Turn, group: ModernGroup[M, T], why: Why, bumped: bool = False) -> None:
    """Update the group's state, and emit an event if the state changed or the group epoch was raised."""
    now = group.present()
    if now != group.state:
        turn.group_moved(group, group.change_state(now), why)
    elif bumped:
        turn.group_moved(group, now, why)


def in_words(group: SubscribedGroup[S], spots: list[Spot], most: int = 4) -> str:
    """Return the partitions as text, such as "orders/0, orders/1 and 3 more"."""
    # The topic names come from the cluster and not from the group, because a member may still have to revoke topics without subscribers.
    told = [f"{group.home.topics.name_of(topic) or 'a deleted topic'}/{index}" for topic, index in nsmallest(most, spots)]
    more = f" and {len(spots) - most} more" if len(spots) > most else ""
    return ", ".join(told) + more if told else "nothing"
