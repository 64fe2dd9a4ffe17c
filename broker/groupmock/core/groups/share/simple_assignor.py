"""Reimplements Kafka's assignor of share groups, `simple`, with exactly the same results (SG-60 to SG-63).

Each partition gets as many members as are needed so that nobody is idle, and each member a quota of partitions. What members had they keep
as far as their quotas allow. Which partition a member loses, and who gets a free one, depends on the order of Java's hash tables.

In Kafka: SimpleAssignor, SimpleHomogeneousAssignmentBuilder, SimpleHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Final, Generic, TypeVar

from ...java.hash_maps import INTEGERS, UUIDS, HashKeys, Kind, room_for
from ...java.hashes import MASK, spread_bits, uuid_hash
from ...java.orders import SMALLEST_TABLE
from ..consumer.assignors.drafts import Computed, Draft
from ..consumer.assignors.spec import Effort, Group, Steps
from ..consumer.orders import Spot

NAME: Final = "simple"
K = TypeVar("K", bound=Hashable)


def _spot_spread(at: Spot) -> int:
    """Return the hash of Kafka's `server.common.TopicIdPartition` as Java's maps spread it."""
    topic, index = at
    return spread_bits(31 * uuid_hash(topic) + index & MASK)


SPOTS: Final[Kind[Spot]] = Kind(_spot_spread, lambda at: at)


def assign(initialized: Mapping[bytes, Collection[int]], group: Group, effort: Effort) -> Steps[dict[str, Computed]]:
    """Return the new targets by member id. Only the partitions in `initialized` are assigned, by topic id."""
    drafts = _Drafts(group, effort)
    if group.homogeneous:
        yield from _alike(initialized, group, drafts, effort)
    else:
        yield from _mixed(initialized, group, drafts, effort)
    return {one.member_id: drafts.computed(number) for number, one in enumerate(group.members)} if drafts.topics else {}


class _Drafts:
    """The targets of a group's members while they change. A member whose target stays has no draft. `topics` has all subscribed topics."""

    def __init__(self, group: Group, effort: Effort) -> None:
        self._members, self._effort = group.members, effort
        self._changed: dict[int, Draft] = {}
        self.topics = HashKeys(UUIDS)
        for one in group.members[:1] if group.homogeneous else group.members:
            for topic in one.subscription.ids:
                self.topics.put(topic)

    def of(self, number: int) -> Draft:
        draft = self._changed.get(number)
        if draft is None:
            draft = self._changed[number] = Draft(self._members[number].target, self._effort)
        return draft

    def computed(self, number: int) -> Computed:
        return self._changed[number].computed() if number in self._changed else self._members[number].target


def _alike(initialized: Mapping[bytes, Collection[int]], group: Group, drafts: _Drafts, effort: Effort) -> Steps[None]:
    """Assign the partitions of all topics together, because all members subscribe to the same."""
    topics = group.members[0].subscription.ids
    wanted = [(topic, index) for topic in topics for index in range(group.partitions[topic]) if index in initialized.get(topic, ())]
    sharing = _Sharing(SPOTS, wanted, range(len(group.members)), lambda at: at, drafts, effort)
    subscribed = frozenset(topics)
    for number, one in enumerate(group.members):
        for topic, indexes in one.target.items():
            if topic in subscribed:
                for index in indexes:
                    sharing.had(number, (topic, index))
            else:
                drafts.of(number).drop(topic)
        if effort.spend(2 + len(one.target)):
            yield
    yield from sharing.assign()


def _mixed(initialized: Mapping[bytes, Collection[int]], group: Group, drafts: _Drafts, effort: Effort) -> Steps[None]:
    """Assign topic by topic, among the topic's subscribers. Members that no longer subscribe to a topic lose their partitions of it."""
    subscribers: dict[bytes, list[int]] = {}
    for number, one in enumerate(group.members):
        for topic in one.subscription.ids:
            subscribers.setdefault(topic, []).append(number)
        if effort.spend(1 + len(one.subscription.ids)):
            yield
    for topic in drafts.topics:
        wanted = [index for index in range(group.partitions[topic]) if index in initialized.get(topic, ())]
        sharing = _Sharing(INTEGERS, wanted, subscribers[topic], partial(_spot, topic), drafts, effort)
        for number, one in enumerate(group.members):
            for index in one.target.get(topic, ()):
                sharing.had(number, index)
            if effort.spend(1):
                yield
        yield from sharing.assign()


def _spot(topic: bytes, index: int) -> Spot:
    return topic, index


class _Sharing(Generic[K]):
    """Shares partitions out among the members with these numbers. K is the type of a partition here, and `spot_of` returns its topic id
    and index. A member without a quota may only have partitions to lose."""

    def __init__(
        self, kind: Kind[K], wanted: Sequence[K], members: Sequence[int], spot_of: Callable[[K], Spot], drafts: _Drafts, effort: Effort
    ) -> None:
        self._kind, self._wanted, self._members, self._spot_of = kind, wanted, members, spot_of
        self._drafts, self._effort = drafts, effort
        count = len(members)
        self._most = -(-count // len(wanted)) if wanted else 0
        step = self._most * len(wanted) / count
        self._quota = {member: ceil(step * (number + 1)) - ceil(step * number) for number, member in enumerate(members)}
        self._partitions = HashKeys(kind, room_for(len(wanted) + 1))
        self._holders: dict[K, HashKeys[int]] = {}
        self._held: dict[int, HashKeys[K]] = {}

    def had(self, member: int, partition: K) -> None:
        """Note that the member's old target has the partition."""
        self._partitions.compute(partition)
        self._holders.setdefault(partition, HashKeys(INTEGERS)).put(member)
        self._held.setdefault(member, HashKeys(self._kind)).put(partition)

    def assign(self) -> Steps[None]:
        """Take partitions from members above their quotas and from partitions with too many members, and give the free ones away."""
        for member, held in self._held.items():
            for partition in list(held)[: max(0, len(held) - self._quota.get(member, 0))]:
                self._take(member, partition)
            if self._effort.spend(1 + len(held)):
                yield
        for partition in self._partitions:
            holders = self._holders[partition]
            for member in list(holders)[: max(0, len(holders) - self._most)]:
                self._take(member, partition)
            if self._effort.spend(1 + len(holders)):
                yield
        for partition in self._wanted:
            self._partitions.compute(partition)
        yield from self._give_rest()

    def _take(self, member: int, partition: K) -> None:
        self._held[member].remove(partition)
        self._holders[partition].remove(member)
        self._drafts.of(member).take(*self._spot_of(partition))

    def _give_rest(self) -> Steps[None]:
        """Give each partition to members below their quotas, which take turns. Kafka's loop ends for all partitions once a whole round has
        given nothing, and counts a partition that a member takes a second time."""
        unfilled = [member for member in sorted(self._members) if len(self._held.get(member, ())) < self._quota[member]]
        turn, given = 0, False
        for partition in list(self._partitions):
            before = self._holders.get(partition, ())
            missing = self._most - len(before)
            while missing > 0 and unfilled:
                if turn == len(unfilled):
                    if not given:
                        return
                    turn, given = 0, False
                member = unfilled[turn]
                turn += 1
                if member in before:
                    continue
                self._drafts.of(member).add(*self._spot_of(partition), SMALLEST_TABLE)
                held = self._held.setdefault(member, HashKeys(self._kind))
                held.put(partition)
                missing, given = missing - 1, True
                if len(held) >= self._quota[member]:
                    turn -= 1
                    del unfilled[turn]
            if self._effort.spend(2 + self._most):
                yield
