"""A classic group and its members as data (docs/kafka/group-protocol.md#records), with its invariants.

Only functions of this package change them. Values on which a heartbeat's answer depends (state, generation, members, their protocols, the
leader) are changed by methods of Group only, because each of them raises `epoch`, which ends the leases that were given before
(`GroupType.end_leases`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from ...java.hashes import spread
from ...java.orders import order_key, table_for
from ..offsets.committed import CommittedOffsets
from ..type import GroupType
from .states import COMPLETING, DEAD, EMPTY, MAY_FOLLOW, PREPARING, STABLE, State
from .subscription import UNKNOWN, Subscribed

if TYPE_CHECKING:
    from ...timers import Timer
    from ..type import Home

Protocols = tuple[tuple[str, bytes], ...]
"""The protocols of a member as (name, metadata) pairs, in the member's order of preference."""


def metadata_of(protocols: Protocols, name: str) -> bytes:
    """Return the metadata of the named protocol, or b"" if the list does not have that protocol."""
    for listed, metadata in protocols:
        if listed == name:
            return metadata
    return b""


def lists(protocols: Protocols, name: str) -> bool:
    """True if the protocol list contains the named protocol."""
    return any(listed == name for listed, _ in protocols)


def bytes_of(protocols: Protocols) -> int:
    """Return the total size of the metadata in a protocol list."""
    return len(protocols[0][1]) if len(protocols) == 1 else sum([len(metadata) for _, metadata in protocols])


class Parked(msgspec.Struct, gc=False):
    """A parked JoinGroup or SyncGroup request of a member. `answered` means that a failing join phase refused it, though it still counts
    as parked, as on 4.3.0. `led` is the former leader, for a replaced static member that only waits for the group record
    (`replacement`)."""

    ticket: int
    version: int
    answered: bool = False
    led: str | None = None


class Member(msgspec.Struct, gc=False, eq=False):
    """A member of a classic group. `spread` orders members as Kafka's hash map does, and is 0 while the member is the only one. `is_new` is
    True until the answer of its first generation."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    session: Timer
    spread: int = 0
    is_new: bool = True
    assignment: bytes = b""
    join: Parked | None = None
    sync: Parked | None = None

    def metadata(self, protocol_name: str) -> bytes:
        """Return the member's metadata for the named protocol, or b"" if the member does not list the protocol."""
        return metadata_of(self.protocols, protocol_name)


class ProtocolListing(msgspec.Struct, gc=False, eq=False):
    """A protocol list and the number of members that have it. Members with equal lists share one tuple, which saves memory in large
    groups."""

    protocols: Protocols
    size: int
    members: int = 0


class StoredGroup(msgspec.Struct, frozen=True):
    """The group's last record in __consumer_offsets, with the members' fields in columns."""

    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None
    state_since_ms: int
    members: tuple[Member, ...]
    protocols: tuple[Protocols, ...]
    assignments: tuple[bytes, ...]
    session_timeouts_ms: tuple[int, ...]
    rebalance_timeouts_ms: tuple[int, ...]


class Group(GroupType):
    """The data of a classic group; `type.ClassicGroup` adds the methods that groups of any type have.

    `pending_joins` has the ids that were reserved with MEMBER_ID_REQUIRED (79), and `pending_syncs` those that still have to send a
    SyncGroup. `awaiting` is the number of members with a parked join. `most` is the largest number of members so far, because Kafka's
    member map never shrinks. `order` is the last result of `ordered`, while it is valid. `line`: see `leaving`. `listed_bytes` is the size
    of all members' metadata, which the leader gets. `initial` has (delay, remaining) ms of the initial join phase. `join_phase_dead` is
    true if that phase failed once, because the old coordinator never completes it then.

    `duplicates_count` and `scala` are quirks of releases: a protocol listed twice counts twice, and members are in the order of Scala's
    hash map."""

    __slots__ = (
        "awaiting",
        "duplicates_count",
        "generation",
        "group_id",
        "home",
        "initial",
        "join_phase_dead",
        "leader_id",
        "line",
        "listed_bytes",
        "listings",
        "members",
        "most",
        "new_member_added",
        "order",
        "partition",
        "pending_joins",
        "pending_syncs",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "scala",
        "state",
        "state_since_ms",
        "static_members",
        "stored",
        "subscribed",
        "supported",
    )

    def __init__(
        self, home: Home, group_id: str, partition: int, state_since_ms: int, duplicates_count: bool = False, scala: bool = False
    ) -> None:
        self.home = home
        self.group_id = group_id
        self.partition = partition
        self.state: State = EMPTY
        self.previous_state: State = DEAD
        self.state_since_ms = state_since_ms
        self.epoch = 0
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.pending_joins: set[str] = set()
        self.pending_syncs: set[str] = set()
        self.supported: Counter[str] = Counter()
        self.listings: dict[Protocols, ProtocolListing] = {}
        self.listed_bytes = 0
        self.awaiting = 0
        self.new_member_added = False
        self.initial = (0, 0)
        self.join_phase_dead = False
        self.subscribed: Subscribed = UNKNOWN
        self.offsets = CommittedOffsets()
        self.stored: StoredGroup | None = None
        self.most = 0
        self.order: list[Member] | None = None
        self.line: list[Member] | None = None
        self.duplicates_count = duplicates_count
        self.scala = scala

    def ordered(self) -> list[Member]:
        """Return the members in the order of Kafka's hash map (P1-d1). The list must not be changed, because it is kept until members
        come or go."""
        if self.order is None:
            self.order = self._sorted()
        return self.order

    def _sorted(self) -> list[Member]:
        mask, scala = table_for(self.most, scala=self.scala) - 1, self.scala
        return sorted(self.members.values(), key=lambda member: order_key(member.spread, mask, scala))

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Let thousands of members leave within this block without searching for the next leader after each. No member may be added."""
        self.line = self.ordered()[::-1]
        try:
            yield
        finally:
            self.line = None

    def first(self, awaiting_only: bool = False) -> Member | None:
        """Return the first member in the order of Kafka's hash map; with `awaiting_only` only members with a parked JoinGroup count.
        This does not sort the members."""
        if self.line is not None and not awaiting_only:
            while self.line and self.members.get(self.line[-1].member_id) is not self.line[-1]:
                self.line.pop()
            return self.line[-1] if self.line else None
        mask, scala = table_for(self.most, scala=self.scala) - 1, self.scala
        among = (member for member in self.members.values() if not awaiting_only or member.join is not None)
        return min(among, key=lambda member: order_key(member.spread, mask, scala), default=None)

    def rebalance_timeout_ms(self) -> int:
        """Return the largest rebalance timeout of the current members, or 0 without members."""
        return max([member.rebalance_timeout_ms for member in self.members.values()], default=0)

    def everybody_joined(self) -> bool:
        """True if every member has a parked JoinGroup and no member id is reserved, so that the join phase need not wait (SERVER-27)."""
        return len(self.members) == self.awaiting and not self.pending_joins

    def is_leader(self, member: Member) -> bool:
        return member.member_id == self.leader_id

    def supported_by_all(self, name: str) -> bool:
        """True if all members list the protocol."""
        return self.supported[name] == len(self.members)

    def subscribed_to(self, topic: str) -> bool:
        """True if the current generation subscribes to the topic. Unknown subscriptions count as all topics, and other protocol types
        use none (SERVER-56)."""
        if self.protocol_type != "consumer":
            return False
        topics = self.subscribed.topics
        return topics is None or topic in topics

    def move(self, state: State, now_ms: int) -> State:
        """Change the group's state and return the former state. A transition that does not exist raises AssertionError."""
        before = self.state
        assert state in MAY_FOLLOW[before], f"{before} may not become {state}"
        self.previous_state = before
        self.state = state
        self.state_since_ms = now_ms
        self.epoch += 1
        return before

    def next_generation(self) -> None:
        """Raise the generation at the end of a join phase, even if the group has no members left (SERVER-11)."""
        self.generation += 1
        self.epoch += 1

    def set_generation(self, number: int) -> None:
        """Set another generation without telling the members, as if the coordinator had taken over a log."""
        self.generation = number
        self.epoch += 1

    def lead(self, member: Member | None) -> None:
        """Set the leader, or remove the leader if `member` is None."""
        self.leader_id = None if member is None else member.member_id
        self.epoch += 1

    def put(self, member: Member) -> None:
        """Add a member to the group's maps and counts. It shares its protocols with members that list the same."""
        self.members[member.member_id] = member
        self.order = None
        self.most = max(self.most, len(self.members))
        if len(self.members) > 1:
            for each in self.members.values() if len(self.members) == 2 else (member,):
                each.spread = each.spread or spread(each.member_id)
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self.awaiting += member.join is not None
        member.protocols = self._list(member.protocols)
        self.epoch += 1

    def drop(self, member: Member) -> None:
        """Remove a member from the group's maps and counts. The caller sees to the leader and to pending SyncGroups."""
        del self.members[member.member_id]
        self.order = None
        if member.group_instance_id is not None and self.static_members.get(member.group_instance_id) == member.member_id:
            del self.static_members[member.group_instance_id]
        self.awaiting -= member.join is not None
        self._unlist(member.protocols)
        self.epoch += 1

    def refill(self, stored: StoredGroup, members: Iterable[Member]) -> None:
        """Fill a new group from its last record in the log: it becomes Stable with these members, or Empty without members."""
        self.generation = stored.generation
        self.protocol_type = stored.protocol_type
        self.protocol_name = stored.protocol_name
        self.leader_id = stored.leader_id
        self.state_since_ms = stored.state_since_ms
        for member in members:
            self.put(member)
        self.state = STABLE if self.members else EMPTY

    def clear(self) -> None:
        """Forget all members, reserved ids and pending SyncGroups."""
        self.members.clear()
        self.order = None
        self.static_members.clear()
        self.pending_syncs.clear()
        self.supported.clear()
        self.listings.clear()
        self.listed_bytes = 0
        self.awaiting = 0
        self.lead(None)

    def relist(self, member: Member, protocols: Protocols) -> None:
        """Replace the protocols of a member."""
        self._unlist(member.protocols)
        member.protocols = self._list(protocols)
        self.epoch += 1

    def park_join(self, member: Member, parked: Parked | None) -> Parked | None:
        """Park a member's JoinGroup, or with None remove it. Return the former one."""
        before, member.join = member.join, parked
        self.awaiting += (parked is not None) - (before is not None)
        return before

    def _list(self, protocols: Protocols) -> Protocols:
        listing = self.listings.get(protocols)
        if listing is None:
            listing = self.listings[protocols] = ProtocolListing(protocols, bytes_of(protocols))
        listing.members += 1
        self.listed_bytes += listing.size
        for name in self._names(protocols):
            self.supported[name] += 1
        return listing.protocols

    def _unlist(self, protocols: Protocols) -> None:
        listing = self.listings[protocols]
        listing.members -= 1
        self.listed_bytes -= listing.size
        if not listing.members:
            del self.listings[protocols]
        for name in self._names(protocols):
            self.supported[name] -= 1
            if not self.supported[name]:
                del self.supported[name]

    def _names(self, protocols: Protocols) -> Iterable[str]:
        # This shortcut serves lists with a single protocol, which nearly every JoinGroup has when many clients join at once.
        if len(protocols) == 1:
            return (protocols[0][0],)
        names = [name for name, _ in protocols]
        return names if self.duplicates_count else dict.fromkeys(names)

    def invariants(self) -> None:
        """Raise AssertionError, naming the broken invariant, unless all hold."""
        for name, check in _INVARIANTS.items():
            assert check(self), f"group {self.group_id!r} in {self.state}: {name}"


def _supported(group: Group) -> dict[str, int]:
    found: dict[str, int] = {}
    for member in group.members.values():
        names = [name for name, _ in member.protocols]
        for name in names if group.duplicates_count else dict.fromkeys(names):
            found[name] = found.get(name, 0) + 1
    return found


def _listings(group: Group) -> dict[Protocols, int]:
    found: dict[Protocols, int] = {}
    for member in group.members.values():
        found[member.protocols] = found.get(member.protocols, 0) + 1
    return found


def _instances(group: Group) -> dict[str, str]:
    return {member.group_instance_id: member.member_id for member in group.members.values() if member.group_instance_id is not None}


_IN_GENERATION = frozenset({COMPLETING, STABLE})
_WITH_MEMBERS = frozenset({PREPARING, COMPLETING, STABLE})

_INVARIANTS: dict[str, Callable[[Group], bool]] = {
    "Empty and Dead have no members": lambda g: g.state in _WITH_MEMBERS or not g.members,
    "Completing and Stable have members": lambda g: g.state not in _IN_GENERATION or bool(g.members),
    "the leader is a member": lambda g: g.leader_id is None or g.leader_id in g.members,
    "members have a leader, but for those of a consumer group of a moment ago (CG-187)": lambda g: (
        g.leader_id is not None or not g.members or all(member.join is None for member in g.members.values())
    ),
    "the kept order of members is what sorting gives": lambda g: g.order is None or g.order == g._sorted(),
    "members are filed under their ids": lambda g: all(member.member_id == key for key, member in g.members.items()),
    "awaiting counts the parked joins": lambda g: g.awaiting == sum(member.join is not None for member in g.members.values()),
    "joins are parked in PreparingRebalance only, unless they were refused or wait for a record": lambda g: (
        g.state is PREPARING or all(_counts_elsewhere(member.join) for member in g.members.values())
    ),
    "who waits for a record may wait in Stable and PreparingRebalance only": lambda g: (
        g.state in (STABLE, PREPARING) or not any(member.join is not None and member.join.led is not None for member in g.members.values())
    ),
    "syncs are parked in CompletingRebalance only": lambda g: (
        g.state is COMPLETING or all(member.sync is None for member in g.members.values())
    ),
    "supported counts the members that list a protocol": lambda g: g.supported == _supported(g),
    "listed_bytes counts the metadata of all members": lambda g: (
        g.listed_bytes == sum(bytes_of(member.protocols) for member in g.members.values())
    ),
    "listings counts the members by their protocols": lambda g: (
        {key: listing.members for key, listing in g.listings.items()} == _listings(g)
    ),
    "static_members maps each instance id to its member": lambda g: g.static_members == _instances(g),
    "a reserved id is no member": lambda g: not g.pending_joins & g.members.keys(),
    "SyncGroups are owed in Completing and Stable only": lambda g: g.state in _IN_GENERATION or not g.pending_syncs,
    "a generation that is under way has a number": lambda g: g.state not in _IN_GENERATION or g.generation >= 1,
    "a generation that is under way has a protocol that all members list": lambda g: (
        g.state not in _IN_GENERATION
        or (g.protocol_name is not None and all(lists(member.protocols, g.protocol_name) for member in g.members.values()))
    ),
    "members have a protocol type": lambda g: not g.members or g.protocol_type is not None,
    "nobody is new once a generation is under way": lambda g: (
        g.state not in _IN_GENERATION or not any(member.is_new for member in g.members.values())
    ),
    "an Empty group has no protocol": lambda g: g.state is not EMPTY or g.protocol_name is None,
    "members beside others have a place in Kafka's map": lambda g: len(g.members) < 2 or all(each.spread for each in g.members.values()),
    "most counts the members that there are": lambda g: g.most >= len(g.members),
}


def _counts_elsewhere(join: Parked | None) -> bool:
    return join is None or join.answered or join.led is not None
