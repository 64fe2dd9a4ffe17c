"""The `range` assignor splits each topic on its own into contiguous ranges for its subscribers (CG-102). The old target does not matter.

Static members come first, by instance id, then the others by member id, as Java sorts strings. A member that stays keeps its place in this
order, so the same members have the same partition numbers of every topic, and topics with equally many partitions are assigned alike.

In Kafka: RangeAssignor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ....java.hash_maps import UUIDS, filled_order, room_for, string_rank
from .drafts import Computed
from .spec import Effort, Group, Member, Steps, subscribers_of


def assign(group: Group, effort: Effort) -> Steps[dict[str, Computed]]:
    """Return the target assignment of each member by member id. The group must have members."""
    members = _in_line(group.members)
    yield
    alike = members[0].subscription if group.homogeneous else None
    subscribers: Mapping[bytes, Sequence[int]]
    subscribers = dict.fromkeys(alike.ids, range(len(members))) if alike else (yield from subscribers_of(members, effort))
    given: list[dict[bytes, range]] = [{} for _ in members]
    for topic, numbers in subscribers.items():
        least, more = divmod(group.partitions[topic], len(numbers))
        begin = 0
        for place, number in enumerate(numbers if least else numbers[:more]):
            given[number][topic] = range(begin, begin := begin + least + (place < more))
        if effort.spend(len(numbers) if least else more):
            yield
    orders: dict[tuple[bytes, ...], list[bytes]] = {}
    computed: dict[str, Computed] = {}
    for one, ranges in zip(members, given, strict=True):
        if alike:
            computed[one.member_id] = _as_the_first(ranges, len(alike.ids), orders)
        else:
            topics = [topic for topic in one.subscription.ids if topic in ranges]
            computed[one.member_id] = _ordered(topics, ranges, one.subscription.size)
        if effort.spend(1 + 2 * len(ranges) + len(one.subscription.ids) // 8):
            yield
    return computed


def _in_line(members: list[Member]) -> list[Member]:
    """Return the members in the order in which `range` assigns: static members first, by instance id, then the others by member id. Java
    and Python sort ASCII alike."""
    names = [member.member_id if member.group_instance_id is None else member.group_instance_id for member in members]
    rank: Callable[[str], str | bytes] = str if "".join(names).isascii() else string_rank
    ranks = [(member.group_instance_id is None, rank(name)) for member, name in zip(members, names, strict=True)]
    return [members[place] for place in sorted(range(len(members)), key=ranks.__getitem__)]


def _as_the_first(ranges: dict[bytes, range], size: int, orders: dict[tuple[bytes, ...], list[bytes]]) -> Computed:
    """Return the ranges with the topics in the order of the first member's result, because all members subscribe alike. The map's size
    is without topics that do not exist."""
    if len(ranges) < 2:
        return ranges
    topics = tuple(ranges)
    if topics not in orders:
        orders[topics] = filled_order(UUIDS, topics, room_for(size))
    return {topic: ranges[topic] for topic in orders[topics]}


def _ordered(topics: Collection[bytes], ranges: dict[bytes, range], size: int) -> Computed:
    """Return the ranges with the topics in the order of a Java hash map of the given size, filled in the order of `topics`."""
    return {topic: ranges[topic] for topic in filled_order(UUIDS, topics, room_for(size))}
