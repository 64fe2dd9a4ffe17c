"""Judges the invariants I1-I6 (docs/how-to/cooperative.md) only from the claims, decisions and deliveries of each rebalance."""

from __future__ import annotations

from collections import Counter
from math import ceil

from policy_world import RoundSeen, World

from groupmock_clients.cooperative.balance import Partition


class Judge:
    """Receives and checks every rebalance of a group. `rest` is called when nothing more can happen without a new event."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.before: RoundSeen | None = None
        self.excused: set[tuple[Partition, str]] = set()
        self.since = 0  # Number of rebalances since the last change of members or topics, including the one that it caused.
        self.started = 0  # Start time of the first rebalance after the last change of members or topics.
        self.deadlines = 0
        self.settled = 0
        self.balancing: list[tuple[Partition, str]] = []
        self.lost_until: dict[Partition, int] = {}

    def round(self, seen: RoundSeen) -> None:
        """Check all invariants that one rebalance can show."""
        self._count(seen)
        self._sound(seen)
        self._one_owner(seen)
        self._never_deferred(seen)
        self._own_delay(seen)
        self._in_time(seen)
        self.before = seen

    def rest(self) -> None:
        """Check I2, I3, I4 and I6 for a group without pending rebalances or timers."""
        world, rules = self.world, self.world.rules
        held = {partition: owners[0].member for partition, owners in world.holders().items()}
        missing = world.universe() - held.keys()
        assert not missing, f"I2: {sorted(missing)} unowned for ever"
        m, d, c, k = len(self.balancing), self.deadlines, self.settled, rules.max_moves
        if rules.design == 1:
            bound = 2 + c
        elif not m:
            bound = 1 + d + c
        else:
            bound = (2 if rules.design == 2 else 2 * ceil(m / k)) + max(1, d) + c
        assert self.since <= bound, f"I3: {self.since} rounds since the last change, at most {bound} (m {m}, D {d}, c {c})"
        back = [(partition, member) for partition, member in self.balancing if held.get(partition) == member]
        assert not back, f"I4: {back} were revoked and are back"
        self._balanced(held)

    def _balanced(self, held: dict[Partition, str]) -> None:
        loads = Counter(held.values())
        for (topic, number), member in held.items():
            for process in self.world.group:
                if topic in process.topics:
                    assert loads[process.member] >= loads[member] - 1, f"I6: {topic}-{number} at {member} with {loads}"

    def _count(self, seen: RoundSeen) -> None:
        if seen.changed or self.before is None:
            self.since, self.started, self.deadlines, self.settled, self.balancing = 0, seen.time, seen.deadlines, 0, []
        self.since += 1
        claimed = Counter(partition for claims in seen.claims.values() for partition in claims)
        moves = 0
        for member, decision in seen.decisions.items():
            for partition in decision.revoked:
                if claimed[partition] > 1 or partition not in seen.universe or partition[0] not in seen.subscriptions[member]:
                    self.settled = 1
                else:
                    self.balancing.append((partition, member))
                    moves += 1
        rules = self.world.rules
        assert rules.design != 3 or moves <= rules.max_moves, f"I6: {moves} moves in one round"

    def _sound(self, seen: RoundSeen) -> None:
        assert seen.decisions.keys() == seen.claims.keys(), "every member gets an Assignment"
        given = Counter(partition for decision in seen.decisions.values() for partition in decision.assigned)
        assert not given or max(given.values()) == 1, f"I1: given twice: {[each for each, count in given.items() if count > 1]}"
        claimed = {partition for claims in seen.claims.values() for partition in claims}
        revoking = any(decision.revoked for decision in seen.decisions.values())
        for member, decision in seen.decisions.items():
            claims = seen.claims[member]
            assert decision.revoked <= claims, f"I4: {member} is asked for what it does not hold"
            assert not decision.revoked & decision.assigned
            foreign = [each for each in decision.assigned if each[0] not in seen.subscriptions[member]]
            assert not foreign, f"I6: {member} is to hold what it does not subscribe to: {foreign}"
            assert claims - decision.revoked <= decision.assigned, f"I4: {member} silently loses {claims - decision.assigned}"
            assert decision.gained == decision.assigned - claims
            assert not decision.gained & claimed, f"I1: {member} is given what somebody still claims"
            assert not (revoking and decision.timeout_ms), "a timeout is only sent when nobody is asked to give up something"
            assert decision.timeout_ms >= 0

    def _one_owner(self, seen: RoundSeen) -> None:
        claimed = Counter(partition for claims in seen.claims.values() for partition in claims)
        collided = {(partition, member) for member, claims in seen.claims.items() for partition in claims if claimed[partition] > 1}
        self.excused = {each for each in self.excused | collided if each[1] in seen.undelivered and each[1] in seen.claims}
        for partition, owners in self.world.holders().items():
            if len(owners) > 1:
                assert any((partition, owner.member) in self.excused for owner in owners), f"I1: {partition} has {len(owners)} owners"

    def _unclaimed(self, seen: RoundSeen) -> frozenset[Partition]:
        return seen.universe - {partition for claims in seen.claims.values() for partition in claims}

    def _same_leader(self, seen: RoundSeen) -> RoundSeen | None:
        return self.before if self.before is not None and self.before.leader == seen.leader else None

    def _never_deferred(self, seen: RoundSeen) -> None:
        before = self._same_leader(seen)
        if before is None:
            return
        given = {partition for decision in seen.decisions.values() for partition in decision.gained}
        # If two members claimed a partition, the leader accepted only one claim.
        kept = {partition for decision in before.decisions.values() for partition in decision.assigned}
        for partition in self._unclaimed(seen) - given:
            for member, decision in before.decisions.items():
                assert partition not in decision.revoked - kept, f"I2b: {partition} was given up on request and is deferred"
                assert partition not in decision.assigned or member not in seen.claims, f"I2b: {partition} undelivered and deferred"

    def _own_delay(self, seen: RoundSeen) -> None:
        before = self._same_leader(seen)
        if before is None:
            self.lost_until = {}
            return
        unclaimed, delay = self._unclaimed(seen), self.world.rules.patience_ms
        self.lost_until = {partition: until for partition, until in self.lost_until.items() if partition in unclaimed}
        for member, decision in before.decisions.items():
            if member not in seen.claims:
                for partition in decision.assigned & unclaimed:
                    self.lost_until.setdefault(partition, seen.time + delay)
        for member, decision in seen.decisions.items():
            newcomer = member not in before.decisions and not seen.claims[member]
            for partition in decision.gained:
                until = self.lost_until.pop(partition, 0)
                assert newcomer or seen.time >= until, f"I5b: {partition} went to {member} {until - seen.time} ms early"

    def _in_time(self, seen: RoundSeen) -> None:
        if seen.time >= self.started + self.world.rules.patience_ms and not seen.changed:
            given = {partition for decision in seen.decisions.values() for partition in decision.gained}
            late = self._unclaimed(seen) - given
            assert not late, f"I2: {sorted(late)} unowned although the delay is over"
        if not self.world.pending:
            owned = self.world.holders().keys()
            due = self.world.next_timer()
            assert not seen.universe - owned or (due is not None and due <= self.started + self.world.rules.patience_ms), (
                "I2: nobody will come"
            )
