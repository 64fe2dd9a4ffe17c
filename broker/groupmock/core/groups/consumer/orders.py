"""Members and partitions of a consumer group are listed in the orders of Java's hash maps (CG-108)."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from ...java.hash_maps import INTEGERS, STRINGS, UUIDS, HashKeys, changed_order, copied_order, filled_order, room_for
from ...java.hashes import java_hash, spread_bits, uuid_hash
from ...java.orders import SMALLEST_TABLE, java_computed_order, java_order
from ...java.tables import Timeline

if TYPE_CHECKING:
    from .assignors import Target

P = TypeVar("P", bound=Iterable[int])
Spot = tuple[bytes, int]
"""A partition as a pair of topic id and partition index."""
Held = dict[Spot, int]
"""A member's partitions, each with the epoch at which the member got it (KIP-1251). The dict is replaced and never changed."""


class MemberTable(Timeline):
    """The coordinator's table of a group's members, whose slots determine the order of members in every list. It grows with its members,
    and never shrinks. In Kafka: the TimelineHashMap ConsumerGroup.members, filled by replaying records."""

    __slots__ = ("_hashes", "_order", "_slots", "_spreads")

    def __init__(self) -> None:
        super().__init__()
        self._hashes: dict[str, int] = {}
        self._order: list[str] = []
        self._slots, self._spreads = array("Q"), array("L")

    def __len__(self) -> int:
        return self.size

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._hashes

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def spreads(self) -> Iterator[tuple[str, int]]:
        """Yield each member id with its hash for Java's maps, in the order of the table."""
        return zip(self._order, self._spreads, strict=True)

    def add(self, member_id: str) -> None:
        """Add a member that is not yet in the table. It is put twice, by the records of its subscription and of its assignment."""
        self.enter(member_id)
        self.put_again()

    def enter(self, member_id: str) -> None:
        """Put a member that is not yet in the table."""
        before = self.capacity
        self._hashes[member_id] = hashed = java_hash(member_id)
        self.put(new=True)
        if self.capacity != before:
            self._arrange()
            return
        slot = self.slot(hashed)
        at = bisect_left(self._slots, slot)
        self._slots.insert(at, slot)
        self._order.insert(at, member_id)
        self._spreads.insert(at, spread_bits(hashed))

    def put_again(self) -> None:
        """Put a member that is in the table, which may grow by that."""
        before = self.capacity
        self.put(new=False)
        if self.capacity != before:
            self._arrange()

    def discard(self, member_id: str) -> None:
        """Remove a member if it is in the table."""
        if member_id in self._hashes:
            at = self._order.index(member_id, bisect_left(self._slots, self._slot_of(member_id)))
            del self._order[at], self._slots[at], self._spreads[at], self._hashes[member_id]
            self.size -= 1

    def _arrange(self) -> None:
        """Sort the whole table again, because it has grown."""
        latest_first = list(reversed(self._hashes))
        self._order = sorted(latest_first, key=self._slot_of)
        self._slots = array("Q", map(self._slot_of, self._order))
        self._spreads = array("L", [spread_bits(self._hashes[member_id]) for member_id in self._order])

    def _slot_of(self, member_id: str) -> int:
        return self.slot(self._hashes[member_id])


def by_topic(spots: Iterable[Spot]) -> list[tuple[bytes, list[int]]]:
    """Group the partitions by topic: topics in the order of a hash map of topic ids, partitions in the order of a hash set."""
    return in_log(grouped(spots))


def in_log(parts: Mapping[bytes, Iterable[int]]) -> list[tuple[bytes, list[int]]]:
    """Return partitions by topic in the order of the records of an assignment: topics in the order of a hash map of topic ids, partitions
    in the order of a hash set."""
    return [(topic, java_order(indexes, int)) for topic, indexes in _in_order(dict(parts), java_order)]


def held(assigned: Iterable[Spot], revoking: Iterable[Spot]) -> list[tuple[bytes, list[int]]]:
    """Return a member's partitions in the order of DescribeGroups: the topics as in a hash map that was filled by `compute`, in each
    topic first the assigned partitions and then those to revoke."""
    found: dict[bytes, list[int]] = {}
    for part in (assigned, revoking):
        for topic, indexes in grouped(part).items():
            found.setdefault(topic, []).extend(java_order(indexes, int))
    return _in_order(found, java_computed_order)


def grouped(spots: Iterable[Spot]) -> dict[bytes, list[int]]:
    """Return the partitions by topic, in their order."""
    found: dict[bytes, list[int]] = {}
    last: bytes | None = None
    indexes: list[int] = []
    for topic, index in spots:
        if topic != last:
            last, indexes = topic, found.setdefault(topic, [])
        indexes.append(index)
    return found


def _in_order(found: Mapping[bytes, P], order: Callable[[Iterable[bytes], Callable[[bytes], int]], list[bytes]]) -> list[tuple[bytes, P]]:
    return [(topic, found[topic]) for topic in order(found, uuid_hash)]


def given(kept: Held, new: Held, target: Target, had: Mapping[bytes, list[int]]) -> Held:
    """Return a member's new partitions in the order in which CurrentAssignmentBuilder builds them. `had` has its old ones by topic.

    It fills a map of topics, first with what is kept and then, by `compute`, with what is new, both in the order of a set of all topics of
    the target and of what the member had. Each topic's partitions are a copy of the map that the member had, no larger than it needed to
    be: 4 comes before 3 there (seen on 4.3.0). Where nothing is kept they are a new map.
    """
    old, fresh, spots = grouped(kept), grouped(new), kept | new
    topics = old | fresh
    capacity = max(room_for(len(target)), SMALLEST_TABLE)
    found: Held = {}
    for topic in _topics_given([*target, *had], capacity, old, fresh) if len(topics) > 1 else topics:
        if topic in old:
            had_here = had.get(topic, [])
            gone = list({*had_here}.difference(old[topic]))
            indexes = changed_order(INTEGERS, java_order(had_here, int), gone, fresh.get(topic, []), room_for(len(had_here)))
        else:
            indexes = filled_order(INTEGERS, fresh[topic], SMALLEST_TABLE)
        for index in indexes:
            found[topic, index] = spots[topic, index]
    return found


def _topics_given(every: list[bytes], capacity: int, old: Container[bytes], fresh: Container[bytes]) -> Iterable[bytes]:
    in_set = filled_order(UUIDS, every, capacity)
    topics = HashKeys(UUIDS, keys=[topic for topic in in_set if topic in old])
    for topic in filled_order(UUIDS, [topic for topic in in_set if topic in fresh], SMALLEST_TABLE):
        topics.compute(topic)
    return topics


def remaining(had: Held, kept: Held) -> Held:
    """Return a member's partitions after whole topics were revoked: the remaining ones, in the order of a copy of the former map that is
    no larger than necessary."""
    parts = dict(by_topic(had))
    topics = HashKeys(UUIDS, room_for(len(parts)), parts)
    return {(topic, index): kept[topic, index] for topic in topics for index in parts[topic] if (topic, index) in kept}


def as_laid_out(spots: Iterable[Spot]) -> list[tuple[bytes, list[int]]]:
    """Group the partitions by topic, with topics and partitions in the order in which `given` has put them into the dict."""
    return list(grouped(spots).items())


def names(subscribed: Iterable[str]) -> list[str]:
    """Return the subscribed names in the order of a hash set that was filled with the sorted names."""
    return list(copied_order(STRINGS, sorted(subscribed)))
