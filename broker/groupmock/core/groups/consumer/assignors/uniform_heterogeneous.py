"""The `uniform` assignor for members with different subscriptions makes the loads as even as the subscriptions allow (CG-103, CG-105).

Loads are levelled one topic after the other, among the topic's subscribers. Members start from their old partitions. First the unowned
partitions are assigned, always to the members with the lowest load. Then partitions move from the highest load to the lowest, topic by
topic and round by round, until a whole round moves nothing, or sixteen rounds have passed. Topics with the most partitions per subscriber
come first.

In Kafka: UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from typing import Final

from ....java.hash_maps import room_for, uuid_rank
from .drafts import Computed, Draft
from .spec import Effort, Group, NoTarget, Steps, subscribers_of

NOBODY: Final = -1
MOST_ROUNDS: Final = 16


class _Levels:
    """The subscribers of one topic, sorted by load and accessed from both ends. Members are numbers; `loads` has the loads of all members
    and changes meanwhile.

    `_low` is the load of the members [0, _low_end), which get partitions in turn. `_high` is the load of the members [_high_start,
    _high_end), which lose partitions in turn, the last one first. Members from _high_end on have no partition of this topic to lose.

    In Kafka: UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer."""

    def __init__(self, subscribers: list[int], loads: list[int]) -> None:
        self._loads = loads
        self._members = sorted(subscribers, key=loads.__getitem__)
        self._low, self._low_end, self._next_low = loads[self._members[0]] - 1, 0, 0
        self._high = loads[self._members[-1]] + 1
        self._high_start = self._high_end = len(self._members)
        self._next_high = len(self._members) - 1

    def least_loaded(self) -> int:
        """Return the member with the least load, which gets the next partition. After all members with the lowest load got one, the next
        load begins, with the members that have it already."""
        if self._next_low >= self._low_end:
            self._low += 1
            while self._low_end < len(self._members) and self._loads[self._members[self._low_end]] == self._low:
                self._low_end += 1
            self._next_low = 0
        self._next_low += 1
        return self._members[self._next_low - 1]

    def most_loaded(self) -> int:
        """Return the member with the highest load, which loses the next partition, or NOBODY if no member is left."""
        if self._next_high < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                self._high = self._loads[self._members[self._high_start - 1]]
            else:
                self._high -= 1
            while self._high_start > 0 and self._loads[self._members[self._high_start - 1]] == self._high:
                self._high_start -= 1
            self._next_high = self._high_end - 1
        if self._next_high < 0:
            return NOBODY
        self._next_high -= 1
        return self._members[self._next_high + 1]

    def exclude_most_loaded(self) -> None:
        """Exclude the member that `most_loaded` returned last, because it has no partition to lose."""
        members, at, last = self._members, self._next_high + 1, self._high_end - 1
        members[at], members[last] = members[last], members[at]
        self._high_end = last

    def even(self) -> bool:
        """True if the highest and the lowest load differ by at most one."""
        return self._high - self._low <= 1


class _Balance:
    """The state of one assignment: the load of each member, the owner of every partition, and a draft of the new target of each member
    whose target changes."""

    def __init__(self, group: Group, subscribers: dict[bytes, list[int]], effort: Effort) -> None:
        self.group, self.effort = group, effort
        self.loads = [0] * len(group.members)
        self.subscribers = subscribers
        self.owners = {topic: [NOBODY] * group.partitions[topic] for topic in self.subscribers}
        self.drafts: list[Draft | None] = [None] * len(group.members)
        self.ranks: dict[bytes, tuple[float, int, int]] = {}

    def rank(self) -> Steps[None]:
        for topic, subscribers in self.subscribers.items():
            self.ranks[topic] = -(self.group.partitions[topic] / len(subscribers)), len(subscribers), uuid_rank(topic)
            if self.effort.spend(4):
                yield

    def draft(self, number: int) -> Draft:
        draft = self.drafts[number]
        if draft is None:
            draft = self.drafts[number] = Draft(self.group.members[number].target, self.effort)
        return draft

    def keep(self) -> Steps[None]:
        """Start from the members' old partitions, except those of topics to which they no longer subscribe."""
        for number, member in enumerate(self.group.members):
            known = frozenset(member.subscription.ids) if member.target else ()
            for topic, partitions in member.target.items():
                if topic not in known:
                    self.draft(number).drop(topic)
                    continue
                self.loads[number] += len(partitions)
                owners = self.owners[topic]
                for partition in partitions:
                    if not 0 <= partition < len(owners):
                        raise NoTarget
                    owners[partition] = number
            if self.effort.spend(1 + 2 * len(member.target) + len(known) // 16):
                yield

    def deal(self) -> Steps[None]:
        """Assign the partitions without owner to the least loaded members."""
        topics = sorted((topic for topic, owners in self.owners.items() if NOBODY in owners), key=self.ranks.__getitem__)
        yield
        for topic in topics:
            levels = _Levels(self.subscribers[topic], self.loads)
            if self.effort.spend(1 + len(self.subscribers[topic]) // 4):
                yield
            for partition, owner in enumerate(self.owners[topic]):
                if owner == NOBODY:
                    self.move(topic, partition, levels.least_loaded())
                    if self.effort.spend(10):
                        yield

    def level(self) -> Steps[None]:
        """Even out the loads of the topics in rounds, until a whole round has moved no partition. `since` is the topic since which
        nothing has moved."""
        if max(self.loads) - min(self.loads) <= 1:
            return
        topics = sorted((topic for topic, subscribers in self.subscribers.items() if len(subscribers) > 1), key=self.ranks.__getitem__)
        yield
        since = None
        for _ in range(MOST_ROUNDS):
            for topic in topics:
                if topic == since:
                    return
                moved = yield from self.level_topic(topic)
                if moved:
                    since = None
                elif since is None:
                    since = topic

    def level_topic(self, topic: bytes) -> Steps[int]:
        """Even out the loads of one topic's subscribers, and return how many partitions moved. A member loses the highest partition of
        those that it had when this began."""
        effort, loads = self.effort, set(map(self.loads.__getitem__, self.subscribers[topic]))
        if effort.spend(1 + len(self.subscribers[topic]) // 16):
            yield
        if max(loads) - min(loads) <= 1:
            return 0
        had: dict[int, list[int]] = {}
        for partition, owner in enumerate(self.owners[topic]):
            had.setdefault(owner, []).append(partition)
        levels, moved = _Levels(self.subscribers[topic], self.loads), 0
        if effort.spend(len(self.owners[topic]) // 2 + len(self.subscribers[topic]) // 4):
            yield
        while not levels.even():
            while (giver := levels.most_loaded()) != NOBODY and not had.get(giver):
                levels.exclude_most_loaded()
                if effort.spend(2):
                    yield
            if giver == NOBODY:
                break
            partition, taker = had[giver].pop(), levels.least_loaded()
            if levels.even():
                break
            self.move(topic, partition, taker)
            moved += 1
            if effort.spend(16):
                yield
        return moved

    def move(self, topic: bytes, partition: int, taker: int) -> None:
        """Move a partition from its owner, if there is one, to the member `taker`."""
        owners = self.owners[topic]
        if owners[partition] != NOBODY:
            self.draft(owners[partition]).remove(topic, partition)
            self.loads[owners[partition]] -= 1
        share = -(-len(owners) // len(self.subscribers[topic]))
        self.draft(taker).add(topic, partition, room_for(share))
        self.loads[taker] += 1
        owners[partition] = taker


def assign(group: Group, effort: Effort) -> Steps[dict[str, Computed]]:
    """Return the target assignment of each member by member id; an unchanged target is the old object. Members that are missing in it
    have no partitions."""
    subscribers = yield from subscribers_of(group.members, effort)
    if not subscribers:
        return {}
    balance = _Balance(group, subscribers, effort)
    yield from balance.rank()
    yield from balance.keep()
    yield from balance.deal()
    yield from balance.level()
    computed: dict[str, Computed] = {}
    for member, draft in zip(group.members, balance.drafts, strict=True):
        computed[member.member_id] = found = member.target if draft is None else draft.computed()
        if effort.spend(1 if draft is None else 6 + 6 * len(found)):
            yield
    return computed
