"""Simulates a group that the cooperative policy leads on a virtual clock: joins, crashes, expulsions, slow rebalances, lost answers. The
broker is minimal: a rebalance collects every member, the leader plans, and the answers arrive or get lost. `rounds` keeps the history
for the judge (policy_judge.py), which never looks into the policy."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from groupmock_clients.cooperative import policy
from groupmock_clients.cooperative.balance import Partition
from groupmock_clients.cooperative.policy import Claim, Decision, LeaderMemory, Received, Rules


@dataclass(eq=False)
class Process:
    """One consumer process of the simulated group. `member` is its id while it is in the group, else "". An expelled process keeps the
    partitions that it believes to own."""

    name: str
    topics: frozenset[str]
    member: str = ""
    owned: set[Partition] = field(default_factory=set)
    timer: int | None = None
    wants: bool = False
    memory: LeaderMemory | None = None
    received: Received | None = None


@dataclass(frozen=True)
class RoundSeen:
    """One rebalance as an observer of the wire sees it. `changed`: members came or went, topics grew, or answers were lost before it."""

    time: int
    leader: str
    subscriptions: dict[str, frozenset[str]]
    claims: dict[str, frozenset[Partition]]
    decisions: dict[str, Decision]
    undelivered: frozenset[str]
    changed: bool
    universe: frozenset[Partition]
    deadlines: int


class World:
    """The simulated group with its broker. `seed` draws member ids and leaders. With `nonce` False, PartitionAssignorData does not
    change from round to round."""

    def __init__(self, rules: Rules, seed: int, counts: dict[str, int], nonce: bool = True) -> None:
        self.rules, self.counts, self.dice, self.nonce = rules, counts, random.Random(seed), nonce
        self.now = 0
        self.group: list[Process] = []
        self.zombies: list[Process] = []
        self.leader: Process | None = None
        self.rounds: list[RoundSeen] = []
        self.changed = False

    # -- the events of members

    def join(self, name: str, topics: Iterable[str]) -> Process:
        """Start a process that asks to join. It becomes a member with the next rebalance."""
        process = Process(name, frozenset(topics))
        self._enter(process)
        return process

    def _enter(self, process: Process) -> None:
        process.member = f"{process.name}-{uuid.UUID(int=self.dice.getrandbits(128), version=4)}"
        process.wants = True
        self.group.append(process)
        self.changed = True

    def remove(self, process: Process) -> None:
        """Remove a member that leaves or whose session expires, because the others cannot see a difference."""
        self.group.remove(process)
        self.changed = True
        if self.leader is process:
            self.leader = None

    def expel(self, process: Process) -> None:
        """End the session of a living member. The process keeps its partitions until it joins again."""
        self.remove(process)
        process.member, process.timer, process.wants = "", None, False
        self.zombies.append(process)

    def rejoin(self, process: Process, forgets: bool) -> None:
        """Let an expelled process rejoin with a new id, with its partitions or (kafka-python) without."""
        self.zombies.remove(process)
        if forgets:
            process.owned = set()
        self._enter(process)

    def subscribe(self, process: Process, topics: Iterable[str], drops: bool) -> None:
        """Change the subscription and rejoin; with `drops` (kafka-python) the process first gives up the partitions that it no longer
        reads."""
        process.topics = frozenset(topics)
        if drops:
            process.owned = {partition for partition in process.owned if partition[0] in process.topics}
        process.wants = self.changed = True

    def grow(self, topic: str, more: int) -> None:
        """Add partitions to a topic, which makes the leader rejoin."""
        self.counts[topic] += more
        self.changed = True

    # -- the rounds

    @property
    def pending(self) -> bool:
        """Return whether a rebalance is about to begin."""
        return bool(self.group) and (self.changed or any(process.wants for process in self.group))

    def universe(self) -> frozenset[Partition]:
        """Return the partitions that the group should own."""
        topics = {topic for process in self.group for topic in process.topics}
        return frozenset((topic, number) for topic in topics for number in range(self.counts[topic]))

    def round(self, losing: frozenset[int] = frozenset(), took: int = 0, silently: bool = False) -> RoundSeen:
        """Run one rebalance of the group. `losing` are indexes of members whose answers are lost; `took` is the time in ms until the
        last member joined. A member that misses its answer joins again, unless it is lost `silently`."""
        if self.leader is None:
            self.leader = self.dice.choice(self.group)
        leader, changed = self.leader, self.changed
        claims = {process.member: Claim(process.topics, frozenset(process.owned)) for process in self.group}
        for process in self.group:
            process.timer, process.wants = None, False
        self.changed = False
        self.now += took
        planned = policy.plan(self.rules, dict(self.counts), claims, leader.member, leader.memory, leader.received, self.now)
        leader.memory = planned.memory
        lost = {self.group[place % len(self.group)] for place in losing}
        for process in self.group:
            if process in lost:
                process.wants = self.changed = not silently
            else:
                self._deliver(process, planned.decisions[process.member], planned.again)
        seen = RoundSeen(
            self.now, leader.member, {member: claim.topics for member, claim in claims.items()},
            {member: claim.owned for member, claim in claims.items()}, dict(planned.decisions),
            frozenset(process.member for process in lost), changed, self.universe(),
            len({loss.deadline for loss in planned.memory.lost.values()}) + (planned.memory.waits_until is not None),
        )  # fmt: skip
        self.rounds.append(seen)
        return seen

    def _deliver(self, process: Process, decision: Decision, again: bool) -> None:
        process.owned = set(decision.assigned)
        process.wants = bool(decision.revoked) or (again and process is self.leader)
        process.timer = self.now + decision.timeout_ms if decision.timeout_ms > 0 and not decision.revoked else None
        seen = frozenset((topic, number) for topic in process.topics for number in range(self.counts[topic]))
        process.received = Received(process.member, process.timer, process.topics, seen)
        if process is not self.leader:
            process.memory = None

    # -- the time

    def next_timer(self) -> int | None:
        """Return the time of the next timer among the members."""
        return min((process.timer for process in self.group if process.timer is not None), default=None)

    def fire(self) -> None:
        """Advance to the next timer, at which its member rejoins. A follower that joins unchanged gets the same answer again, as from
        Kafka."""
        self.now = max(self.now, self.next_timer() or 0)
        for process in self.group:
            if process.timer is not None and process.timer <= self.now:
                process.timer, process.wants = None, True
                if not self.nonce and process is not self.leader and self.rounds[-1].claims.get(process.member) == frozenset(process.owned):
                    self._deliver(process, self.rounds[-1].decisions[process.member], False)

    def holders(self) -> dict[Partition, list[Process]]:
        """Return the processes that believe to own each partition."""
        found: dict[Partition, list[Process]] = {}
        for process in self.group:
            for partition in process.owned:
                found.setdefault(partition, []).append(process)
        return found
