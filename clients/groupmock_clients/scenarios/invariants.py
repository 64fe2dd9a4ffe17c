"""Check the invariants of every run, live or virtual, from its rows alone: those of docs/how-to/cooperative.md, and that no record is lost.

A live leader plans somewhere between its JoinGroup answer (`began`) and its SyncGroup (`planned`), and each time is compared with the more
lenient of both. Rounds in which no member is told anything new do not count, because kafka-python discards a join now and then, and a
member's timer may be slightly early.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from groupmock.rounds import Generation, Partition, Partitions, name_of, rebalances
from groupmock_codec.units import NS_PER_MS

from .member_invariants import BrokenInvariant, callbacks, listed, records, said
from .play import GROUP, RUNNER, STREAMS_CLASSIC, Row, ScenarioRun, Speaks

Finding = tuple[str, str]


def broken(run: ScenarioRun) -> list[BrokenInvariant]:
    """Return all violations in the order of time."""
    found = [*_rounds_of(run), *callbacks(run), *records(run)]
    return sorted(found, key=lambda each: each.at_ms)


def _rounds_of(run: ScenarioRun) -> Iterator[BrokenInvariant]:
    rounds = [each for found in rebalances(run.rows, GROUP) for each in found.generations if each.planned is not None]
    judge = _Judge(run)
    for each in rounds:
        for invariant, text in judge.round(each):
            yield BrokenInvariant(invariant, each.began_ms, f"generation {each.number}: {text}")
    end = _time_of(run.rows, "end")
    last = [each for each in rounds if each.began_ms <= end]
    if last:
        for invariant, text in (*judge.rest(last[-1]), *_in_time(run, last)):
            yield BrokenInvariant(invariant, end, text)


def _time_of(rows: Sequence[Row], what: str) -> float:
    """Return the time in ms of the runner's row of that kind, or infinity if there is none."""
    return next((row["t"] / NS_PER_MS for row in rows if said(row, what) and row["client"] == RUNNER), float("inf"))


class _Judge:
    """Checks the invariants of rounds, which it gets in their order."""

    def __init__(self, run: ScenarioRun) -> None:
        self.sizes, self.protocol = run.sizes, run.protocol
        self.design = run.protocol.design
        self.patience = 0 if self.design < 2 else run.sizes.delay_ms
        self.cooperative = bool(self.design) or run.protocol.name in ("cooperative-sticky", STREAMS_CLASSIC)
        self.before: Generation | None = None
        self.known: dict[str, int] = {}  # Maps a topic to the number of partitions that some leader knew of.
        self.rounds = 0  # Number of rebalances since the last change, including the one that brought the change.
        self.started = 0.0  # The latest time at which the first rebalance after the last change was planned.
        self.deadlines = 0
        self.settled = 0
        self.balancing: list[tuple[Partition, str]] = []
        self.lost_until: dict[Partition, float] = {}  # Maps a lost partition to the earliest time at which its reservation ends.

    def round(self, seen: Generation) -> Iterator[Finding]:
        """Check the invariants after one round (a generation that the leader has completed)."""
        learned = False  # A leader of kafka-python may learn of a new topic only after the rebalance that added it, and then joins again.
        for topic, number in seen.holders():
            learned |= number >= self.known.get(topic, 0)
            self.known[topic] = max(self.known.get(topic, 0), number + 1)
        yield from self._given_once(seen)
        if self._is_cooperative(seen):
            yield from self._one_owner(seen)
            changed = self._changed(seen) or learned
            if self.design and seen.protocol_type == "consumer":
                yield from self._obeyable(seen)
                yield from self._never_deferred(seen)
                yield from self._own_delay(seen)
                yield from self._not_late(seen, changed)
            yield from self._count(seen, changed)
        else:
            self.started, self.rounds, self.balancing, self.lost_until = 0.0, 0, [], {}
        self.before = seen

    def rest(self, last: Generation) -> Iterator[Finding]:
        """Check I2, I3, I4 and I6 of a settled group: all partitions owned, few rounds, no needless revocation, balance."""
        held = last.holders()
        missing = last.universe - held.keys()
        if missing:
            yield "I2", f"in the end nobody owns {listed(missing)}"
        if last.protocol_type == "connect":
            return
        yield from self._balanced(last)
        back = [each for each in self.balancing if held.get(each[0]) == each[1]]
        if back:
            yield "I4", f"revoked after the last change and back in the end: {back}"
        if self.design and self._is_cooperative(last):
            bound, why = self._bound()
            if self.rounds > bound:
                yield "I3", f"{self.rounds} rounds since the last change, at most {bound} ({why})"

    def _is_cooperative(self, seen: Generation) -> bool:
        """Tell whether cooperative rules apply. During a migration range's rules hold until every member speaks the protocol."""
        return self.cooperative and (seen.protocol != "range" or any(claim.owned for claim in seen.claims.values()))

    def _given_once(self, seen: Generation) -> Iterator[Finding]:
        given = Counter(partition for told in seen.told.values() for partition in told.assigned)
        twice = {partition for partition, count in given.items() if count > 1}
        if twice:
            yield "I1", f"given to two members: {listed(twice)}"

    def _one_owner(self, seen: Generation) -> Iterator[Finding]:
        """Check that no partition is claimed by two members, nor assigned to one while another claims it. An expelled member that comes
        back with old claims is excepted."""
        claimants: defaultdict[Partition, list[str]] = defaultdict(list)
        for member, claim in seen.claims.items():
            for partition in claim.owned:
                claimants[partition].append(member)
        here = self.before.claims.keys() if self.before is not None else frozenset()
        for partition, members in claimants.items():
            if sum(member in here for member in members) > 1:
                yield "I1", f"{listed({partition})} is claimed by {', '.join(map(name_of, members))}"
        for member, told in seen.told.items():
            taken = {each for each in told.assigned - seen.claims[member].owned if each in claimants}
            if taken:
                yield "I1", f"{name_of(member)} is given what somebody still claims: {listed(taken)}"

    def _obeyable(self, seen: Generation) -> Iterator[Finding]:
        revoking = any(told.revoked for told in seen.told.values())
        for member, told in seen.told.items():
            owned, name = seen.claims[member].owned, name_of(member)
            if told.revoked - owned:
                yield "I4", f"{name} is asked for what it does not hold: {listed(told.revoked - owned)}"
            if owned - told.revoked - told.assigned:
                yield "I4", f"{name} silently loses {listed(owned - told.revoked - told.assigned)}"
            if told.timeout_ms and (revoking or self.design == 1):
                yield "I3", f"{name} is told to wait {told.timeout_ms} ms {'beside revocations' if revoking else 'in Design I'}"

    def _changed(self, seen: Generation) -> bool:
        """Tell whether members, topics or partitions changed before this round, or a member missed the last round."""
        before = self.before
        if before is None or before.claims.keys() != seen.claims.keys() or before.universe != seen.universe:
            return True
        return any(
            claim.topics != before.claims[member].topics or claim.owned != before.told[member].assigned
            for member, claim in seen.claims.items()
        )

    def _unclaimed(self, seen: Generation) -> Partitions:
        topics = {topic for claim in seen.claims.values() for topic in claim.topics}
        known = {(topic, number) for topic in topics for number in range(self.known.get(topic, 0))}
        return frozenset(known - {partition for claim in seen.claims.values() for partition in claim.owned})

    def _deferred(self, seen: Generation) -> Partitions:
        return self._unclaimed(seen) - seen.holders().keys()

    def _never_deferred(self, seen: Generation) -> Iterator[Finding]:
        before = self.before
        if before is None or before.leader != seen.leader:
            return
        kept = before.holders().keys()
        for partition in self._deferred(seen):
            for member, told in before.told.items():
                if partition in told.revoked - kept:
                    yield "I2b", f"{listed({partition})} was given up by {name_of(member)} on request and waits"
                if partition in told.assigned and member in seen.claims:
                    yield "I2b", f"{listed({partition})} did not reach {name_of(member)}, which is here, and waits"

    def _own_delay(self, seen: Generation) -> Iterator[Finding]:
        before = self.before
        unclaimed = self._unclaimed(seen)
        if before is None or before.leader != seen.leader:
            self.lost_until = {}
        elif self.patience:
            self.lost_until = {partition: until for partition, until in self.lost_until.items() if partition in unclaimed}
            for member, told in before.told.items():
                for partition in told.assigned & unclaimed if member not in seen.claims else ():
                    self.lost_until.setdefault(partition, seen.began_ms + self.patience)
            yield from self._early(before, seen)

    def _early(self, before: Generation, seen: Generation) -> Iterator[Finding]:
        assert seen.planned_ms is not None
        for member, told in seen.told.items():
            newcomer = member not in before.claims and not seen.claims[member].owned
            for partition in told.assigned - seen.claims[member].owned:
                until = self.lost_until.pop(partition, 0.0)
                if not newcomer and seen.planned_ms < until:
                    yield "I5b", f"{listed({partition})} went to {name_of(member)} {until - seen.planned_ms:.0f} ms early"

    def _not_late(self, seen: Generation, changed: bool) -> Iterator[Finding]:
        late = self._deferred(seen)
        if late and not changed and seen.began_ms >= self.started + self.patience:
            yield "I2", f"{listed(late)} still unowned {seen.began_ms - self.started:.0f} ms after the last change"

    def _count(self, seen: Generation, changed: bool) -> Iterator[Finding]:
        assert seen.planned_ms is not None
        if changed:
            self.rounds, self.started, self.settled, self.balancing = 0, seen.planned_ms, 0, []
            # None stands for the common deadline of all lost partitions that a new leader found.
            self.deadlines = len({self.lost_until.get(each) for each in self._deferred(seen)})
        if changed or self._news(seen):
            self.rounds += 1
        claimed = Counter(partition for claim in seen.claims.values() for partition in claim.owned)
        moves = 0
        for member, told in seen.told.items():
            for partition in told.revoked:
                if claimed[partition] > 1 or partition not in seen.universe or partition[0] not in seen.claims[member].topics:
                    self.settled = 1
                else:
                    self.balancing.append((partition, member))
                    moves += 1
        if self.design == 3 and moves > self.sizes.max_moves:
            yield "I6", f"{moves} moves asked for in one round, at most {self.sizes.max_moves}"

    def _news(self, seen: Generation) -> bool:
        """Tell whether the round's Assignments differ from those of the previous round."""
        before = self.before
        return before is None or _told(seen) != _told(before)

    def _bound(self) -> tuple[int, str]:
        m, d, c, k = len(self.balancing), self.deadlines, self.settled, self.sizes.max_moves
        why = f"m {m}, D {d}, c {c}"
        if self.design == 1:
            return 2 + c, why
        if not m:
            return 1 + d + c, why
        return (2 if self.design == 2 else 2 * ceil(m / k)) + max(1, d) + c, why

    def _balanced(self, last: Generation) -> Iterator[Finding]:
        """Check that range balances each topic, and the other protocols all topics together. In a settled group all members subscribe to
        the same topics."""
        per_topic = last.protocol == "range" and not self.design
        topics: list[Callable[[Partition], bool]] = [lambda _: True]
        if per_topic:
            topics = [_of(topic) for topic in {each[0] for each in last.universe}]
        for chosen in topics:
            loads = {member: sum(map(chosen, told.assigned)) for member, told in last.told.items()}
            if max(loads.values()) > min(loads.values()) + 1:
                yield "I6", f"not balanced: { {name_of(member): load for member, load in loads.items()} }"


def _told(seen: Generation) -> dict[str, tuple[Partitions, Partitions]]:
    return {member: (told.assigned, told.revoked) for member, told in seen.told.items()}


def _of(topic: str) -> Callable[[Partition], bool]:
    return lambda partition: partition[0] == topic


@dataclass(frozen=True, slots=True)
class _Absence:
    """The absence of a process: the last round with it, the first without it, the first with it again."""

    process: str
    here: Generation
    missed: Generation
    back: Generation

    def in_time(self, delay_ms: float) -> bool:
        """Tell whether the process came back before its delay was over, counted from the first round without the process."""
        return (self.back.planned_ms or 0.0) < self.missed.began_ms + delay_ms

    @property
    def led(self) -> bool:
        """Tell whether the absent process was the leader."""
        return name_of(self.here.leader) == self.process


def _absences(run: ScenarioRun, rounds: Sequence[Generation]) -> Iterator[_Absence]:
    """Yield the absences of processes in a run. Processes that stayed away, or were back before a round missed them, have none."""
    for row in run.rows:
        if not (said(row, "step") and row["fields"]["step"] in ("kill", "stop")):
            continue
        process = row["fields"]["member"]
        earlier = [each for each in rounds if each.began_ms <= row["t"] / NS_PER_MS]
        later = [each for each in rounds if each.began_ms > row["t"] / NS_PER_MS]
        there = [process in map(name_of, each.claims) for each in later]
        if earlier and False in there and True in there[there.index(False) :]:
            missed = there.index(False)
            yield _Absence(process, earlier[-1], later[missed], later[there.index(True, missed)])


def _in_time(run: ScenarioRun, rounds: Sequence[Generation]) -> Iterator[Finding]:
    """Check the invariant I5, by which a process that comes back in time owns its own partitions again at once. If all are back in time,
    no partition ever changes its owner."""
    if run.protocol.design < 2 or run.scenario.starts is not Speaks.TARGET or _expelled(run):
        return
    absences = list(_absences(run, rounds))
    for each in absences:
        if each.in_time(run.sizes.delay_ms) and each.here.leader == each.missed.leader == each.back.leader:
            had, has = _held_by(each.process, each.here), _held_by(each.process, each.back)
            if had != has:
                yield "I5", f"{each.process} had {listed(had)} and was back in time, for {listed(has)}"
    # A process need not get its partitions back if a leader was absent and members may own nothing, because the next leader cannot know to
    # whom lost partitions belonged.
    if run.scenario.in_time and all(
        each.in_time(run.sizes.delay_ms) and not (each.led and len(each.back.universe) < len(each.back.claims)) for each in absences
    ):
        yield from _never_elsewhere(run, rounds)


def _expelled(run: ScenarioRun) -> bool:
    """Tell whether a member was removed although its process was alive, which happens if a busy machine delays heartbeats."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    going: set[str] = set()
    for row in run.rows:
        if said(row, "step") and row["fields"]["step"] in ("kill", "stop"):
            going |= ids[row["fields"]["member"]]
        elif row["kind"] == "member" and row["group"] == GROUP:
            if row["what"] == "added":
                ids[name_of(row["member_id"])].add(row["member_id"])
            elif row["what"] == "removed" and row["member_id"] not in going:
                return True
    return False


def _held_by(process: str, seen: Generation) -> Partitions:
    return frozenset(partition for partition, member in seen.holders().items() if name_of(member) == process)


def _never_elsewhere(run: ScenarioRun, rounds: Sequence[Generation]) -> Iterator[Finding]:
    begin = _time_of(run.rows, "begin")
    owner: dict[Partition, str] = {}
    for each in rounds:
        for partition, member in each.holders().items():
            if each.began_ms < begin:
                owner[partition] = name_of(member)
            elif owner.setdefault(partition, name_of(member)) != name_of(member):
                yield "I5", f"{listed({partition})} of {owner[partition]} went to {name_of(member)} although everybody was back in time"
