"""The assignor `range` (CG-102): each topic for itself, split into contiguous ranges among its subscribers; the old target does not count.

The order is of static members by instance id, then of the others by member id, as strings of Java are sorted: whoever stays keeps its place
in the line, so the same members have the same numbers of every topic, and topics with as many partitions are assigned alike.
In Kafka: RangeAssignor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ....java.hash_maps import UUIDS, filled_order, room_for, string_rank
from .drafts import Computed
from .spec import Group, Member


def assign(group: Group) -> dict[str, Computed]:
    """Member id -> its target. The group has members."""
    members = sorted(group.members, key=_place)
    alike = members[0].subscription if group.homogeneous else None
    subscribers: dict[bytes, Sequence[int]] = dict.fromkeys(alike.ids, range(len(members))) if alike else _subscribers(members)
    given: list[dict[bytes, range]] = [{} for _ in members]
    for topic, numbers in subscribers.items():
        least, more = divmod(group.partitions[topic], len(numbers))
        begin = 0
        for place, number in enumerate(numbers if least else numbers[:more]):
            given[number][topic] = range(begin, begin := begin + least + (place < more))
    if alike:
        return {one.member_id: _ordered(ranges, ranges, len(alike.ids)) for one, ranges in zip(members, given, strict=True)}
    return {
        one.member_id: _ordered([topic for topic in one.subscription.ids if topic in ranges], ranges, one.subscription.size)
        for one, ranges in zip(members, given, strict=True)
    }


def _subscribers(members: list[Member]) -> dict[bytes, Sequence[int]]:
    """Topic id -> places in the line."""
    found: dict[bytes, list[int]] = {}
    for number, member in enumerate(members):
        for topic in member.subscription.ids:
            found.setdefault(topic, []).append(number)
    return dict(found)


def _place(member: Member) -> tuple[bool, bytes]:
    instance = member.group_instance_id
    return instance is None, string_rank(member.member_id if instance is None else instance)


def _ordered(topics: Collection[bytes], ranges: dict[bytes, range], size: int) -> Computed:
    """As they come out of a map made for so many topics, into which they were put in the order of the subscription.

    Where all subscribe alike, it is everybody's order of the first in the line, and the size is without topics that do not exist.
    """
    return {topic: ranges[topic] for topic in filled_order(UUIDS, topics, room_for(size))}
