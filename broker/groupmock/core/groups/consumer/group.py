"""A consumer group and its members as data, and what must always hold of them. Theory: `states`.

Only functions of this package change them, and what a heartbeat's answer hangs on only by methods of `Group`, because each of them ends
the leases that were given before it (`GroupType.end_leases`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ...timers import Timer
from ...work import at_once
from ..offsets.committed import CommittedOffsets
from ..type import GroupType
from .assignors import Effort, Spreads, stored
from .orders import Held, MemberTable, Spot
from .states import FIRST_EPOCH, JOINING, MAY_FOLLOW, Progress, State

if TYPE_CHECKING:
    from ...re2j.matching import Matcher
    from ..type import Home
    from .assignors import Subscription, Target

NOTHING: Final[Held] = {}
"""What nearly everybody has to give up."""


class Departure(NamedTuple):
    """How somebody went: replaced by a classic member with its instance id, its `successor`; None: it is gone. `rebalances`: are the
    others to join again?"""

    rebalances: bool
    successor: str | None = None


class ClassicSide(msgspec.Struct, frozen=True):
    """Of a member that speaks the classic protocol (CG-172 to CG-192): its list, name and metadata, and its own session timeout.
    `version`: of its subscription, in which it is told what it has."""

    protocols: tuple[tuple[str, bytes], ...]
    session_timeout_ms: int
    version: int

    @property
    def name(self) -> str:
        """The protocol that it is told: its first."""
        return self.protocols[0][0]


def no_session() -> Timer:
    """Of who was not heard yet."""
    return Timer(("session",), 0, 0, live=False)


class Member(msgspec.Struct, eq=False, gc=False):
    """One member. `names` is as it was sent (Kafka keeps a set); `regex` "" where there is none.

    `epoch`, `previous_epoch`: see `states`. `assigned`: what it may have; `revoking`: what it was told to give up and may still have.
    `session`: Timer of the last accepted heartbeat; `session_timeout_ms`: what it was armed with. `former_instances`: instance ids that it
    had before, which are its own as well.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    names: frozenset[str] = frozenset()
    regex: str = ""
    epoch: int = JOINING
    previous_epoch: int = -1
    progress: Progress = Progress.STABLE
    assigned: Held = {}
    revoking: Held = {}
    session: Timer = msgspec.field(default_factory=no_session)
    session_timeout_ms: int = 0
    classic: ClassicSide | None = None
    former_instances: tuple[str, ...] = ()

    @property
    def instances(self) -> tuple[str, ...]:
        """Every instance id that means this member."""
        return self.former_instances if self.group_instance_id is None else (self.group_instance_id, *self.former_instances)


class Named(msgspec.Struct):
    """What some members of a group name alike: the names, which these members share, and how many they are. `subscription`: the names as
    assignors see them while the topics stay as they are; None: nobody has read them since."""

    names: frozenset[str]
    members: int = 0
    subscription: Subscription | None = None


class Resolved(msgspec.Struct, frozen=True):
    """What a regular expression matched, when (ns of the run), and how many topics had been made by then."""

    topics: frozenset[str]
    at: int
    made: int


class Group(GroupType):
    """A consumer group's data; `type.ConsumerGroup` adds what is asked of groups of any type.

    `generation` is the group epoch. `targets`: member id -> what it is to have. `holders`: partition -> who has it, assigned or revoking.
    `computed_at`: when the target was computed last (ns of the run; None: never). `restless`: members that are not where the target wants
    them. `topics`: the subscribed topics as they were when the group epoch was bumped last, name -> (id, partitions); `stale`: a topic
    has come, grown or gone since, or nobody has looked yet; `recounted`: names that got their first subscriber or lost their last one
    since then (None: an expression was forgotten, so that all are looked at again). `subscribers`: topic name -> members that name it;
    `spreads`: hashes of these names; `named`: each set of names that members give. `judged`: do members subscribe alike, where Kafka says
    otherwise than is so now; `forgotten`: what expressions matched that nobody has any more, in the event that is under way
    (`judge_anew`). `spoken`: name of a classic protocol -> members that list it; `classics`: members that speak classic; `lost`: how
    somebody went in the event that is under way. `expressions`: regular expression -> how many members have it; `matchers` and `resolved`
    of those.
    """

    __slots__ = (
        "assignment_epoch", "classics", "computed_at", "expressions", "forgotten", "generation", "group_id", "holders", "home", "judged",
        "leader_id", "listed_bytes", "lost", "matchers", "members", "named", "partition", "protocol_name", "protocol_type",
        "recounted", "resolved", "restless", "spoken", "spreads", "stale", "state", "static_members", "subscribers", "table", "targets",
        "topics",
    )  # fmt: skip

    def __init__(self, home: Home, group_id: str, partition: int) -> None:
        self.home = home
        self.group_id = group_id
        self.partition = partition
        self.state: str = State.EMPTY
        self.epoch = 0
        self.generation = FIRST_EPOCH
        self.assignment_epoch = 0
        self.computed_at: int | None = None
        self.protocol_type: str | None = "consumer"
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.table = MemberTable()
        self.targets: dict[str, Target] = {}
        self.holders: dict[Spot, str] = {}
        self.restless: set[str] = set()
        self.topics: dict[str, tuple[bytes, int]] = {}
        self.stale = True
        self.subscribers: Counter[str] = Counter()
        self.named: dict[frozenset[str], Named] = {}
        self.spreads = Spreads()
        self.recounted: dict[str, None] | None = {}
        self.spoken: Counter[str] = Counter()
        self.classics = 0
        self.lost: Departure | None = None
        self.judged: bool | None = None
        self.forgotten: list[frozenset[str]] = []
        self.expressions: Counter[str] = Counter()
        self.matchers: dict[str, Matcher] = {}
        self.resolved: dict[str, Resolved] = {}
        self.listed_bytes = 0
        self.offsets = CommittedOffsets()

    # -- reading -------------------------------------------------------------------------------------------------------

    def ordered(self) -> list[Member]:
        """The members in the order of the coordinator's table (CG-108)."""
        return [self.members[member_id] for member_id in self.table]

    def subscription_of(self, member: Member) -> frozenset[str]:
        """Names, and what its regular expression matched."""
        resolved = self.resolved.get(member.regex) if member.regex else None
        return member.names if resolved is None else member.names | resolved.topics

    def subscribed_to(self, topic: str) -> bool:
        """By name, or matched by a regular expression (CG-162)."""
        return topic in self.subscribers or any(topic in resolved.topics for resolved in self.resolved.values())

    def subscribed_names(self) -> Collection[str]:
        """Every topic that somebody subscribes to, each once."""
        if not self.resolved:
            return self.subscribers
        return frozenset(self.subscribers).union(*(resolved.topics for resolved in self.resolved.values()))

    def present(self) -> str:
        """The state that the epochs and members make (ConsumerGroup.maybeUpdateGroupState)."""
        if not self.members:
            return State.EMPTY
        if self.generation > self.assignment_epoch:
            return State.ASSIGNING
        return State.RECONCILING if self.restless else State.STABLE

    def at_rest(self, member: Member) -> bool:
        """Is it where the target wants it?"""
        return member.epoch == self.assignment_epoch and member.progress is Progress.STABLE

    def last_resolved(self) -> Resolved | None:
        """One of its expressions as it was resolved last: all are at once."""
        return next(iter(self.resolved.values()), None)

    def alike(self) -> bool:
        """Do all members subscribe alike, as Kafka judged it last (CG-103; ModernGroup.subscriptionType)?"""
        return self.judge() if self.judged is None else self.judged

    def judge(self, forgotten: Iterable[frozenset[str]] = ()) -> bool:
        """... as it judges it now: every name has as many subscribers as there are members; or one expression has, and nobody gave a
        name. `forgotten`: topics that expressions matched which are to be forgotten, each counts as a name without subscribers."""
        kept = frozenset().union(*forgotten)
        if any(self.expressions.values()):
            counts = [count for count in self.expressions.values() if count]
            matched = frozenset().union(*(resolved.topics for resolved in self.resolved.values()))
            return counts == [len(self.members)] and not self.subscribers and kept.isdisjoint(matched)
        if not kept <= self.subscribers.keys():
            return not self.members
        return {len(self.members)}.issuperset(self.subscribers.values())

    def judge_anew(self, settled: bool) -> None:
        """A member was written, so that it is judged anew. That is before an expression is forgotten with its last member, unless the
        member's assignment was written too (`settled`), which is last (ConsumerGroup.updateMember, removeMember)."""
        forgotten, self.forgotten = self.forgotten, []
        self.judged = self.judge(forgotten) if forgotten and not settled else None

    def target_of(self, member: Member) -> list[Spot]:
        """What it is to have."""
        return [(topic, index) for topic, indexes in self.targets.get(member.member_id, {}).items() for index in indexes]

    # -- bookkeeping ---------------------------------------------------------------------------------------------------

    def move(self, state: str) -> str:
        """Change the state; returns the one before. AssertionError: no such transition."""
        before = self.state
        assert state in MAY_FOLLOW[before], f"{before} may not become {state}"
        self.state = state
        self.end_leases()
        return before

    def refill(self, generation: int, assignment_epoch: int, members: Iterable[Member], targets: dict[str, Target]) -> None:
        """Become, a new group, what its records tell."""
        self.generation, self.assignment_epoch = generation, assignment_epoch
        for member in members:
            self.put(member)
            self.seat(member.member_id)
        self.targets, self.state = targets, self.present()

    def refresh_topics(self) -> bool:
        """Look at the subscribed topics as they are now. Has anything changed, so that another target is called for?"""
        before = self.topics
        self.count_topics()
        self.stale = False
        return self.topics is not before and self.topics != before

    def count_topics(self) -> None:
        """Take down the subscribed topics as they are now (Kafka's metadata hash), with every group epoch. Only names that are new or gone
        are looked at where no topic has changed, because a group may have thousands, and each join counts."""
        known, self.recounted = self.recounted, {}
        if self.stale or self.resolved or known is None:
            before, self.topics = self.topics, self.as_they_are(self.subscribed_names())
            if self.topics != before:
                self.spreads.clear()
                for named in self.named.values():
                    named.subscription = None
        elif known:
            kept = {name: topic for name, topic in self.topics.items() if name not in known}
            self.topics = kept | self.as_they_are(name for name in known if name in self.subscribers)

    def as_they_are(self, names: Iterable[str]) -> dict[str, tuple[bytes, int]]:
        """Return those topics that exist: name -> (id, partitions)."""
        found = {}
        for name in names:
            topic = self.home.topics.get(name)
            if topic is not None:
                found[name] = (topic.topic_id, len(topic.partitions))
        return found

    def bump(self) -> None:
        """Another target is called for."""
        self.generation += 1
        self.end_leases()

    def put(self, member: Member) -> None:
        """Take a member in: maps, subscription, partitions. `seat` gives it its place among the others."""
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self._count(member, 1)
        if member.classic is not None:
            self._speak(member.classic, 1)
        self._hold(member)
        self.watch(member)
        self.end_leases()

    def reseat(self) -> None:
        """The records of an upgrade put the members into a new table, in the order of the one that it was computed with."""
        ids, self.table = list(self.table), MemberTable()
        for member_id in ids:
            self.table.add(member_id)

    def seat(self, member_id: str, instead_of: str | None = None) -> None:
        """Into the table of members, which Kafka writes to when a heartbeat is over: what the heartbeat computes still has the old one."""
        if instead_of is not None:
            self.table.discard(instead_of)
        self.table.add(member_id)

    def drop(self, member: Member) -> None:
        """Take a member out of all maps but the table; its partitions are free."""
        del self.members[member.member_id]
        self.targets.pop(member.member_id, None)
        self.restless.discard(member.member_id)
        for instance in member.instances:
            if self.static_members.get(instance) == member.member_id:
                del self.static_members[instance]
        self._count(member, -1)
        self._forget_expressions()
        if member.classic is not None:
            self._speak(member.classic, -1)
        for spot in (*member.assigned, *member.revoking):
            self.holders.pop(spot, None)
        self.end_leases()

    def replace(self, old: Member, new: Member) -> None:
        """A static member has another id, and what it had: nothing else of the group changes."""
        target = self.targets.pop(old.member_id, None)
        del self.members[old.member_id]
        self.restless.discard(old.member_id)
        self.members[new.member_id] = new
        if target is not None:
            self.targets[new.member_id] = at_once(stored({}, target, Effort()))  # its record is written again
        for instance in old.instances:
            self.static_members.pop(instance, None)
        if new.group_instance_id is not None:
            self.static_members[new.group_instance_id] = new.member_id
        self._hold(new)
        self.watch(new)
        self.end_leases()

    def speak(self, member: Member, classic: ClassicSide | None) -> None:
        """The member speaks the classic protocol so, or the consumer protocol."""
        if member.classic is not None:
            self._speak(member.classic, -1)
        member.classic = classic
        if classic is not None:
            self._speak(classic, 1)
        self.end_leases()

    def _speak(self, classic: ClassicSide, step: int) -> None:
        self.classics += step
        for name in dict.fromkeys(name for name, _ in classic.protocols):
            self.spoken[name] += step
            if not self.spoken[name]:
                del self.spoken[name]

    def subscribe(self, member: Member, names: frozenset[str], regex: str) -> None:
        """The member subscribes to something else."""
        self._count(member, -1)
        member.names, member.regex = names, regex
        self._count(member, 1)
        self._forget_expressions()
        self.end_leases()

    def give(self, member: Member, assigned: Held, revoking: Held) -> None:
        """The member has other partitions, or gives others up."""
        for spot in (*member.assigned, *member.revoking):
            if spot not in assigned and spot not in revoking:
                self.holders.pop(spot, None)
        member.assigned, member.revoking = assigned, revoking or NOTHING
        self._hold(member)
        self.end_leases()

    def assign(self, targets: dict[str, Target], now: int, assignor: str) -> None:
        """The target of this group epoch was computed, by that assignor: nobody is there yet."""
        assert self.assignment_epoch < self.generation
        self.targets, self.assignment_epoch, self.computed_at, self.protocol_name = targets, self.generation, now, assignor
        self.restless = set(self.members)
        self.end_leases()

    def watch(self, member: Member) -> None:
        """Its epoch or progress may have changed."""
        (self.restless.discard if self.at_rest(member) else self.restless.add)(member.member_id)

    def _hold(self, member: Member) -> None:
        for spot in (*member.assigned, *member.revoking):
            self.holders[spot] = member.member_id

    def _count(self, member: Member, step: int) -> None:
        self.listed_bytes += step * (sum(map(len, member.names)) + len(member.regex))
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
            if count in (0, step):  # the last one, or the first
                changed.append(name)
        if self.recounted is not None:
            self.recounted.update(dict.fromkeys(changed))
        if member.regex:
            self.expressions[member.regex] += step

    def _forget_expressions(self) -> None:
        """The last member that has one takes what it matched along (CG-117)."""
        if all(self.expressions.values()):
            return
        for regex in [regex for regex, count in self.expressions.items() if not count]:
            del self.expressions[regex]
            self.matchers.pop(regex, None)
            resolved = self.resolved.pop(regex, None)
            if resolved is not None:
                self.forgotten.append(resolved.topics)
                self.recounted = None
                self.spreads.clear()

    # -- what must hold ------------------------------------------------------------------------------------------------

    def invariants(self) -> None:
        """Raise AssertionError, naming the broken invariant, unless all hold."""
        from .invariants import INVARIANTS  # a server that listens has no need of them

        for name, check in INVARIANTS.items():
            assert check(self), f"group {self.group_id!r} in {self.state}: {name}"
