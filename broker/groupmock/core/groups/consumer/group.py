"""The data of a consumer group and its members, with the methods that change it. `states` explains the protocol.

Only functions of this package change them. Values on which a heartbeat's answer depends are changed by methods of `Group` only, because
each of them ends the leases that were given before (`GroupType.end_leases`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import msgspec

from ...timers import Timer
from ...work import at_once
from ..modern import SubscribedGroup
from ..offsets.committed import CommittedOffsets
from ..reconciling import ReconcilingGroup
from .assignors import Effort, stored
from .orders import Held, MemberTable, Spot
from .states import AWAY, JOINING, Progress, State

if TYPE_CHECKING:
    from ...re2j.matching import Matcher
    from ...turn import Turn
    from ..type import Home
    from .assignors import Target

NOTHING: Final[Held] = {}
"""The empty value of a member's `revoking`, shared because nearly all members have no partitions to revoke."""


class Departure(NamedTuple):
    """A member has left the group, or was replaced by a classic member. `successor` is the classic member with the same instance id that
    replaced it, or None if there is none. `rebalances` is true if the other members have to join again."""

    rebalances: bool
    successor: str | None = None


class ClassicSide(msgspec.Struct, frozen=True):
    """The protocol list (name and metadata) and session timeout of a member that uses the classic protocol (CG-172 to CG-192). `version`
    is that of its subscription, in which it gets its assignment."""

    protocols: tuple[tuple[str, bytes], ...]
    session_timeout_ms: int
    version: int

    @property
    def name(self) -> str:
        """Return the first protocol of the member's list, which JoinGroup and SyncGroup answers name as the chosen protocol."""
        return self.protocols[0][0]


def no_session() -> Timer:
    """Return the timer of a member that has no session."""
    return Timer(("session",), 0, 0, live=False)


class Member(msgspec.Struct, eq=False, gc=False):
    """A member of a consumer group. `names` is as it was sent (Kafka keeps a set); `regex` is "" if there is none.

    For `epoch` and `previous_epoch` see `states`. `assigned` has the partitions that it may have, and `revoking` those that it must revoke
    and may still have. `session` is the timer since the last accepted heartbeat, and `session_timeout_ms` the timeout with which it was
    armed. `former_instances` are earlier instance ids, which still mean this member before Kafka 4.4."""

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
    def gives_way(self) -> bool:
        """True if a member with another id may take the member's instance id now."""
        return self.epoch == AWAY or self.classic is not None

    @property
    def instances(self) -> tuple[str, ...]:
        """Return the member's present and former instance ids, all of which identify this member."""
        return self.former_instances if self.group_instance_id is None else (self.group_instance_id, *self.former_instances)


class Resolved(msgspec.Struct, frozen=True):
    """The topics that a regular expression matched, the time of the match (ns of the run), and the number of topics created by then."""

    topics: frozenset[str]
    at: int
    made: int


class Group(ReconcilingGroup[Member, "Target"], SubscribedGroup[Member]):
    """The data of a consumer group; `type.ConsumerGroup` adds the methods that groups of any type have.

    `holders` maps each partition to the member that has it, assigned or revoking. `restless` has the members that have not reached the
    target. `judged` says whether members subscribe alike, if Kafka's result differs from the present state. `spoken` counts members by
    classic protocol that they list, and `classics` those that use the classic protocol. `expressions` counts members by regular
    expression; `matchers` and `resolved` belong to these. During one event `forgotten` has the matches of expressions that no member has
    any more (`judge_anew`), and `lost` the departure of a member. `untrue`: targets of a classic leader have partitions that do not exist
    (`rehearsal`)."""

    __slots__ = (
        "classics", "expressions", "forgotten", "holders", "judged", "lost", "matchers", "may_describe", "resolved", "restless", "spoken",
        "untrue", "votes",
    )  # fmt: skip

    def __init__(self, home: Home, group_id: str, partition: int) -> None:
        super().__init__(home, group_id, partition, State.EMPTY, "consumer")
        self.untrue = False
        self.holders: dict[Spot, str] = {}
        self.may_describe: Callable[[str], bool] | None = None
        self.restless: set[str] = set()
        self.spoken: Counter[str] = Counter()
        self.votes: Counter[str] = Counter()
        self.classics = 0
        self.lost: Departure | None = None
        self.judged: bool | None = None
        self.forgotten: list[frozenset[str]] = []
        self.expressions: Counter[str] = Counter()
        self.matchers: dict[str, Matcher] = {}
        self.resolved: dict[str, Resolved] = {}
        self.offsets = CommittedOffsets()

    @classmethod
    def begin(cls, turn: Turn, home: Home, group_id: str, partition: int) -> Self:
        """Return an empty group whose group epoch is 1."""
        return cls(home, group_id, partition)

    def speaks_classic(self, member: Member) -> bool:
        return member.classic is not None

    def subscription_of(self, member: Member) -> frozenset[str]:
        """Return the topic names to which the member subscribes, including the matches of its regular expression."""
        resolved = self.resolved.get(member.regex) if member.regex else None
        return member.names if resolved is None else member.names | resolved.topics

    def subscribed_to(self, topic: str) -> bool:
        """True if a member subscribes to the topic by name or by regular expression (CG-162)."""
        return topic in self.subscribers or any(topic in resolved.topics for resolved in self.resolved.values())

    def subscribed_names(self) -> Collection[str]:
        """Return the names of all topics to which a member subscribes, each once."""
        if not self.resolved:
            return self.subscribers
        return frozenset(self.subscribers).union(*(resolved.topics for resolved in self.resolved.values()))

    def matched_names(self) -> bool:
        return bool(self.resolved)

    def last_resolved(self) -> Resolved | None:
        """Return the last resolution of one of the group's regular expressions, because all of them are resolved at the same time."""
        return next(iter(self.resolved.values()), None)

    def alike(self) -> bool:
        """True if all members subscribe alike, according to the last time when Kafka checked (CG-103; ModernGroup.subscriptionType)."""
        return self.judge() if self.judged is None else self.judged

    def judge(self, forgotten: Iterable[frozenset[str]] = ()) -> bool:
        """Check now whether all members subscribe alike. `forgotten` has the topics of expressions that are about to be dropped, each of
        which counts as a name without subscribers."""
        kept = frozenset().union(*forgotten)
        if any(self.expressions.values()):
            counts = [count for count in self.expressions.values() if count]
            matched = frozenset().union(*(resolved.topics for resolved in self.resolved.values()))
            return counts == [len(self.members)] and not self.subscribers and kept.isdisjoint(matched)
        if not kept <= self.subscribers.keys():
            return not self.members
        return {len(self.members)}.issuperset(self.subscribers.values())

    def judge_anew(self, settled: bool) -> None:
        """Check again whether members subscribe alike, because Kafka does when the record of a member is written. This comes before an
        expression is dropped with its last member, unless the member's assignment was written too (`settled`), which is last
        (ConsumerGroup.updateMember, removeMember)."""
        forgotten, self.forgotten = self.forgotten, []
        self.judged = self.judge(forgotten) if forgotten and not settled else None

    def target_of(self, member: Member) -> list[Spot]:
        """Return the partitions of the member's target assignment."""
        return [(topic, index) for topic, indexes in self.targets.get(member.member_id, {}).items() for index in indexes]

    def refill(self, generation: int, assignment_epoch: int, members: Iterable[Member], targets: dict[str, Target]) -> None:
        self.generation, self.assignment_epoch = generation, assignment_epoch
        for member in members:
            self.put(member)
            self.seat(member.member_id)
        self.targets, self.state = targets, self.present()
        given = ((topic, index) for each in targets.values() for topic, indexes in each.items() for index in indexes)
        self.untrue = self.home.topics.lack(given)

    def put(self, member: Member) -> None:
        """Add a member and its subscription and partitions to the group's maps. `seat` gives it its place among the others."""
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self._count(member, 1)
        self._vote(member.assignor, 1)
        if member.classic is not None:
            self._speak(member.classic, 1)
        self._hold(member)
        self.watch(member)
        self.epoch += 1

    def reseat(self) -> None:
        """Rebuild the member table in its present order, because the records of an upgrade put the members into a new Kafka map."""
        ids, self.table = list(self.table), MemberTable()
        for member_id in ids:
            self.table.add(member_id)

    def drop(self, member: Member) -> None:
        """Remove a member from all maps but the member table, so that its partitions become free."""
        del self.members[member.member_id]
        self.targets.pop(member.member_id, None)
        self.restless.discard(member.member_id)
        for instance in member.instances:
            if self.static_members.get(instance) == member.member_id:
                del self.static_members[instance]
        self._count(member, -1)
        self._vote(member.assignor, -1)
        self._forget_expressions()
        if member.classic is not None:
            self._speak(member.classic, -1)
        for spot in (*member.assigned, *member.revoking):
            self.holders.pop(spot, None)
        self.epoch += 1

    def replace(self, old: Member, new: Member) -> None:
        """Replace a static member by a member with another id and the same partitions. The rest of the group does not change."""
        target = self.targets.pop(old.member_id, None)
        del self.members[old.member_id]
        self.restless.discard(old.member_id)
        self.members[new.member_id] = new
        if target is not None:
            # The target is copied, because Kafka writes the target's record again, which may change the order of partitions.
            self.targets[new.member_id] = at_once(stored({}, target, Effort()))
        for instance in old.instances:
            self.static_members.pop(instance, None)
        if new.group_instance_id is not None:
            self.static_members[new.group_instance_id] = new.member_id
        self._hold(new)
        self.watch(new)
        self.epoch += 1

    def vote(self, member: Member, assignor: str) -> None:
        """Change the assignor that the member names."""
        self._vote(member.assignor, -1)
        member.assignor = assignor
        self._vote(assignor, 1)

    def _vote(self, assignor: str | None, step: int) -> None:
        if assignor is not None:
            self.votes[assignor] += step
            if not self.votes[assignor]:
                del self.votes[assignor]

    def speak(self, member: Member, classic: ClassicSide | None) -> None:
        """Note which protocol the member uses: the classic protocol with this protocol list and session timeout, or the consumer
        protocol if `classic` is None."""
        if member.classic is not None:
            self._speak(member.classic, -1)
        member.classic = classic
        if classic is not None:
            self._speak(classic, 1)
        self.epoch += 1

    def _speak(self, classic: ClassicSide, step: int) -> None:
        self.classics += step
        for name in dict.fromkeys(name for name, _ in classic.protocols):
            self.spoken[name] += step
            if not self.spoken[name]:
                del self.spoken[name]

    def subscribe(self, member: Member, names: frozenset[str], regex: str) -> None:
        self._count(member, -1)
        member.names, member.regex = names, regex
        self._count(member, 1)
        self._forget_expressions()
        self.epoch += 1

    def give(self, member: Member, assigned: Held, revoking: Held) -> None:
        """Set the partitions that the member is assigned and those that it is revoking."""
        for spot in (*member.assigned, *member.revoking):
            if spot not in assigned and spot not in revoking:
                self.holders.pop(spot, None)
        member.assigned, member.revoking = assigned, revoking or NOTHING
        self._hold(member)
        self.epoch += 1

    def _hold(self, member: Member) -> None:
        for spot in (*member.assigned, *member.revoking):
            self.holders[spot] = member.member_id

    def _count(self, member: Member, step: int) -> None:
        self.count_names(member, step)
        self.listed_bytes += step * len(member.regex)
        if member.regex:
            self.expressions[member.regex] += step

    def _forget_expressions(self) -> None:
        """Drop the regular expressions that no member has any more, together with their matches (CG-117)."""
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

    def invariants(self) -> None:
        """Raise AssertionError, naming the broken invariant, unless all hold."""
        from .invariants import INVARIANTS  # This import is late, because a server that only listens does not need it.

        for name, check in INVARIANTS.items():
            assert check(self), f"group {self.group_id!r} in {self.state}: {name}"
