"""The assignor `range` (CG-102): each topic for itself, split into contiguous ranges among its subscribers; the old target does not count.

The order is of static members by instance id, then of the others by member id, as strings of Java are sorted: whoever stays keeps its place
in the line, so the same members have the same numbers of every topic, and topics with as many partitions are assigned alike.
In Kafka: RangeAssignor.
"""

from __future__ import annotations

from ....java.hash_maps import UUIDS, HashKeys, room_for, string_rank
from .drafts import Computed
from .spec import Group, Member, Subscription


def assign(group: Group) -> dict[str, Computed]:
    """Member id -> its target. The group has members."""
    members = sorted(group.members, key=_place)
    subscribers: dict[bytes, list[int]] = {}
    for number, member in enumerate(members):
        for topic in member.subscription.ids:
            subscribers.setdefault(topic, []).append(number)
    given: list[dict[bytes, range]] = [{} for _ in members]
    for topic, numbers in subscribers.items():
        least, more = divmod(group.partitions[topic], len(numbers))
        begin = 0
        for place, number in enumerate(numbers if least else numbers[:more]):
            given[number][topic] = range(begin, begin := begin + least + (place < more))
    if group.homogeneous:
        alike = members[0].subscription
        return {one.member_id: _ordered(alike, len(alike.ids), ranges) for one, ranges in zip(members, given, strict=True)}
    return {one.member_id: _ordered(one.subscription, one.subscription.size, ranges) for one, ranges in zip(members, given, strict=True)}


def _place(member: Member) -> tuple[bool, bytes]:
    instance = member.group_instance_id
    return instance is None, string_rank(member.member_id if instance is None else instance)


def _ordered(subscription: Subscription, size: int, ranges: dict[bytes, range]) -> Computed:
    """As they come out of a map made for so many topics, into which they were put in the order of the subscription.

    Where all subscribe alike, it is everybody's order of the first in the line, and the size is without topics that do not exist.
    """
    topics = HashKeys(UUIDS, room_for(size))
    for topic in subscription.ids:
        if topic in ranges:
            topics.put(topic)
    return {topic: ranges[topic] for topic in topics}
