"""Compute a leader's decisions for Designs I, II and III: `plan(...)` is a pure function of the members' claims, their metadata, the
leader's memory and the time.

Rule numbers are those of the leader rules in docs/how-to/cooperative.md, which also lists the invariants that the tests check. Times are ms
on a monotonic clock. Partitions are (topic, number).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from .balance import Move, Partition, by_id, even_out, is_balanced, place, subscribers_of
from .terms import DELAY_MS, NOBODY, Claim, Decision, LeaderMemory, LeaderPlan, Loss, Partitions, Received, Rules, name_of

__all__ = ["DELAY_MS", "Claim", "Decision", "LeaderMemory", "LeaderPlan", "Loss", "Received", "Round", "Rules", "name_of", "plan"]


def plan(
    rules: Rules,
    counts: Mapping[str, int],
    claims: Mapping[str, Claim],
    me: str,
    memory: LeaderMemory | None,
    received: Received | None,
    now: int,
) -> LeaderPlan:
    """Plan the assignments of one round, led by `me`, a key of `claims`. `counts` maps topic to number of partitions.

    `memory` is part of the last plan of this leader. It is void if the leader was not a member then under this id. `received` is used only
    without memory.
    """
    return Round(rules, counts, claims, me, memory, received, now).plan()


class Round:
    """The working state of one call of the function `plan`. Each method is one rule or a small part of one."""

    def __init__(
        self,
        rules: Rules,
        counts: Mapping[str, int],
        claims: Mapping[str, Claim],
        me: str,
        memory: LeaderMemory | None,
        received: Received | None,
        now: int,
    ) -> None:
        self.rules, self.claims, self.me, self.now = rules, claims, me, now
        # A leader whose id has changed was out of the group for a while, and others may have led it meanwhile
        # (docs/how-to/cooperative.md#rules-of-the-leader).
        self.memory = memory if memory is not None and me in memory.subscriptions else None
        self.received = received if self.memory is None and received is not None and received.member == me else None
        # The topics that the leader subscribed to in the last round, and whose partitions it knew.
        self.seen = self.received.topics & {topic for topic, _ in self.received.universe} if self.received is not None else frozenset()
        self.subscriptions = {member: claim.topics for member, claim in claims.items()}
        wanted = subscribers_of(self.subscriptions)
        # If the leader has no metadata of another member's topic (not loaded yet), claims on it stay and none of it is assigned.
        unknown = {each for claim in claims.values() for each in claim.owned if each[0] not in counts and each[0] in wanted}
        self.universe = unknown | {(topic, number) for topic in wanted for number in range(counts.get(topic, 0))}
        self.subscribers = {topic: wanted[topic] for topic in {each[0] for each in self.universe}}
        self.members = sorted(claims, key=by_id)
        self.held: dict[Partition, str] = {}
        self.revoked: defaultdict[str, set[Partition]] = defaultdict(set)
        self.lost: dict[Partition, Loss] = {}
        self.departed = self._departed()

    def plan(self) -> LeaderPlan:
        """Apply the leader rules in their order."""
        claimed = self.settle()
        unowned = self.universe - claimed
        if self.waits():
            return self._wait()
        now = {partition for partition in sorted(unowned) if not self.defer(partition)}
        asked = {each for each in now if self.in_transfer(each)}
        matched = self.welcome()
        taken = set(self.held) - claimed
        # Partitions of a member that no longer subscribes to their topic get a new owner now, to whom they are assigned in the next round.
        freed = (claimed & self.universe) - self.held.keys()
        moves, target = self.balance(now | freed, moving=not self.lost and not matched)
        chosen = self.choose(moves, handing_over=bool(asked))
        for move in chosen:
            self.revoked[move.giver].add(move.partition)
        self.held = {each: moves[each].giver if each in moves else member for each, member in target.items() if each not in freed}
        timeout = self.timeout(waiting=len(chosen) < len(moves))
        return LeaderPlan(self._decisions(taken | now, timeout), self._memory(moves, target), self.again(timeout))

    def settle(self) -> set[Partition]:
        """Apply leader rule 0: decide in `held` which claimant keeps each partition, and revoke all other claims on it. Returns all
        claimed partitions."""
        claimants: defaultdict[Partition, list[str]] = defaultdict(list)
        for member in self.members:
            for partition in self.claims[member].owned:
                if partition in self.universe and partition[0] in self.claims[member].topics:
                    claimants[partition].append(member)
                else:
                    self.revoked[member].add(partition)
        for partition, members in claimants.items():
            self.held[partition] = keeper = self.keeper(partition, members)
            for member in members:
                if member != keeper:
                    self.revoked[member].add(partition)
        return {partition for claim in self.claims.values() for partition in claim.owned}

    def keeper(self, partition: Partition, members: list[str]) -> str:
        """Choose the claimant that keeps a partition: the known owner, else the leader that received it, else a member of the last
        generation, else the lowest id."""
        if len(members) == 1:
            return members[0]
        if self.memory is not None:
            holder = self.memory.holdings.get(partition)
            if holder in members and partition not in self.memory.lost:
                return holder
            return next((member for member in members if member in self.memory.subscriptions), members[0])
        return self.me if self.received is not None and self.me in members else members[0]

    def waits(self) -> bool:
        """Tell whether this leader is the first member of its group and has to wait for other members (leader rule 2)."""
        if self.rules.first == "assign" or not self.rules.patience_ms or any(claim.owned for claim in self.claims.values()):
            return False
        return self.memory is None or (self.memory.waits_until or 0) > self.now

    def _wait(self) -> LeaderPlan:
        until = self.memory.waits_until if self.memory is not None and self.memory.waits_until else self.now + self.rules.patience_ms
        memory = LeaderMemory(self.subscriptions, frozenset(self.universe), {}, waits_until=until)
        nothing: Partitions = frozenset()
        return LeaderPlan({member: Decision(nothing, nothing, nothing, until - self.now) for member in self.members}, memory, False)

    def defer(self, partition: Partition) -> bool:
        """Tell whether an unowned partition is reserved for an owner that has left. If so, add it to `lost`."""
        if self.is_new(partition) or self.in_transfer(partition) or self.undelivered(partition):
            return False
        loss = self.loss(partition)
        if loss.deadline <= self.now:
            return False  # The deadline for which lost partitions stay reserved has passed (leader rule 8).
        self.lost[partition] = loss
        return True

    def is_new(self, partition: Partition) -> bool:
        """Tell whether no member knew the partition before, so that it cannot have been lost (leader rules 2 and 3)."""
        if self.memory is not None:
            return partition not in self.memory.universe
        if not any(claim.owned for claim in self.claims.values()):
            return True
        if self.received is not None and partition[0] in self.seen:
            return partition not in self.received.universe
        # A leader that did not subscribe to the topic, or had no metadata of it, goes by the claims of the members. kafka-python may join
        # and get partitions before it has metadata.
        return not any(owned[0] == partition[0] for claim in self.claims.values() for owned in claim.owned)

    def in_transfer(self, partition: Partition) -> bool:
        """Tell whether a member gave the partition up because this leader asked for that (leader rule 4)."""
        return self.memory is not None and partition in self.memory.universe and partition not in self.memory.holdings

    def undelivered(self, partition: Partition) -> bool:
        """Tell whether this leader assigned the partition to a present member that does not own the partition (yet)."""
        if self.memory is None or partition in self.memory.lost:
            return False
        return self.memory.holdings.get(partition) in self.claims

    def loss(self, partition: Partition) -> Loss:
        """Return the loss of a partition with the deadline that was set when the partition was lost (leader rule 6). Rule 11: a member that
        followed at the loss uses the deadline it received."""
        if self.memory is not None:
            known = self.memory.lost.get(partition)
            return known or Loss(self.now + self.rules.patience_ms, self.memory.holdings[partition])
        told = self.received.deadline if self.received is not None and self.rules.design == 2 else None
        return Loss(self.now + self.rules.patience_ms if told is None else told, NOBODY)

    def _departed(self) -> dict[str, int]:
        if self.memory is None or not self.rules.patience_ms:
            return {}
        gone = {member: until for member, until in self.memory.departed.items() if until > self.now}
        gone |= {member: self.now + self.rules.patience_ms for member in self.memory.subscriptions if member not in self.claims}
        return gone

    def welcome(self) -> bool:
        """Give reserved partitions to members that have just joined. Returns whether there were any newcomers, because then no other
        member has to give up partitions."""
        if not self.lost:
            return False
        left = []
        newcomers = list(self.newcomers())
        matched = False
        for member in newcomers:
            owner = self._namesake(member)
            if owner is None:
                left.append(member)
            else:
                matched = True
                del self.departed[owner]
                self._take(member, owner)
        for member in left:
            sets = {loss.owner for loss in self.lost.values() if self.rules.match == "any" or loss.owner == NOBODY}
            if sets:
                self._take(member, max(sets, key=lambda owner: (len(self._takeable(member, owner)), by_id(owner))))
                matched = True
        return matched

    def newcomers(self) -> Iterator[str]:
        """Yield the new members that claim no partitions. Without memory: those that should have owned something, except the leader."""
        empty = [member for member in self.members if not self.claims[member].owned]
        if self.memory is not None:
            yield from (member for member in empty if member not in self.memory.subscriptions)
            return
        for member in empty:
            topics = self.subscriptions[member] & self.subscribers.keys()
            able = {each for topic in topics for each in self.subscribers[topic]}
            # A new leader does not know earlier assignments either, and would keep for itself the partitions that other members wait for
            # (leader rule 11).
            if member != self.me and sum(partition[0] in topics for partition in self.universe) >= len(able):
                yield member

    def _namesake(self, member: str) -> str | None:
        """Return the departed member whose process name this member has, or None. Among several choose the one that lost most, then the
        highest id."""
        same = [each for each in self.departed if name_of(each) == name_of(member)]
        return max(same, key=lambda owner: (len(self._takeable(member, owner)), by_id(owner)), default=None)

    def _takeable(self, member: str, owner: str) -> list[Partition]:
        return [each for each, loss in self.lost.items() if loss.owner == owner and each[0] in self.subscriptions[member]]

    def _take(self, member: str, owner: str) -> None:
        for partition in self._takeable(member, owner):
            del self.lost[partition]
            self.held[partition] = member

    def balance(self, now: set[Partition], moving: bool) -> tuple[dict[Partition, Move], dict[Partition, str]]:
        """Return the partition moves of this round, and the assignment to which all moves together lead. Without `moving` no member
        gives up a partition in this round."""
        if moving and (kept := self.kept(now)) is not None:
            target = kept
        else:
            target = place(self.held, now, self.subscribers)
            if moving:
                target = even_out(target, now, self.subscribers)
        moves = {
            partition: Move(partition, giver, target[partition]) for partition, giver in self.held.items() if target[partition] != giver
        }
        return moves, target

    def kept(self, now: set[Partition]) -> dict[Partition, str] | None:
        """Return the target of the last plan if that plan is unfinished and still fits: same members, same topics, and every partition
        where the plan expects it."""
        last = self.memory
        if last is None or last.target is None or last.subscriptions != self.subscriptions or last.target.keys() != self.held.keys() | now:
            return None
        for partition, member in self.held.items():
            move = last.moves.get(partition)
            if member != last.target[partition] and (move is None or move.giver != member):
                return None
        return dict(last.target)

    def choose(self, moves: Mapping[Partition, Move], handing_over: bool) -> list[Move]:
        """Choose the partition moves to begin in this round. Designs I and II begin all. Design III begins `max_moves` from the fullest
        members, and none while others are in transfer."""
        if self.rules.design != 3:
            return list(moves.values())
        if handing_over:
            return []
        loads = Counter(self.held.values())
        ranked = sorted(moves.values(), key=lambda move: move.partition, reverse=True)
        ranked.sort(key=lambda move: (-loads[move.giver], by_id(move.giver)))
        return ranked[: self.rules.max_moves]

    def timeout(self, waiting: bool) -> int:
        """Return the ms after which members rejoin, or 0 if a member rejoins at once anyway (leader rule 8). `waiting` says that moves
        are left for later."""
        # The document of the designs leaves open which member's revocation counts (docs/kafka/seed-documents.md). Here any revocation
        # counts, because one member that rejoins at once begins the round for all members.
        if any(self.revoked.values()):
            return 0
        if self.lost:
            return min(loss.deadline for loss in self.lost.values()) - self.now
        return self.rules.move_interval_ms if waiting else 0

    def again(self, timeout: int) -> bool:
        """Tell whether the leader must rejoin because the assignment is unbalanced and no other member would rejoin (leader rule 10)."""
        return not timeout and not any(self.revoked.values()) and not is_balanced(self.held, self.subscribers)

    # -- the result

    def _decisions(self, new: set[Partition], timeout: int) -> dict[str, Decision]:
        has: defaultdict[str, set[Partition]] = defaultdict(set)
        for partition, member in self.held.items():
            has[member].add(partition)
        return {
            member: Decision(
                frozenset(has[member] - self.revoked[member]),
                frozenset(has[member] & new),
                frozenset(self.revoked[member]),
                timeout,
            )
            for member in self.members
        }

    def _memory(self, moves: Mapping[Partition, Move], target: Mapping[Partition, str]) -> LeaderMemory:
        holdings = {each: member for each, member in self.held.items() if each not in self.revoked[member]}
        holdings |= {each: loss.owner for each, loss in self.lost.items()}
        return LeaderMemory(
            self.subscriptions,
            frozenset(self.universe),
            holdings,
            dict(self.lost),
            self.departed,
            dict(target) if moves else None,
            dict(moves),
        )
