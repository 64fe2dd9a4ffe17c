"""What an assignor is given: members, in the order of Kafka's own map, with the ids they subscribe to and what they had.

Members are put into a hash map in the order of the coordinator's table, the one whose heartbeat computes last (CG-108). Names of a member
are a hash set; assignors see ids one by one as that set is iterated. Of names that do not exist they see nothing, but its size has them.
In Kafka: TargetAssignmentBuilder, GroupSpecImpl, TopicIds and UnionSet, ConsumerGroup.subscriptionType.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

import msgspec

from ....java.hash_maps import STRINGS, HashKeys, Kind, copied_order, filled_order
from ....java.orders import SMALLEST_TABLE

Target = dict[bytes, tuple[int, ...]]
"""Topic id (16 bytes) -> partitions: what one member shall have. Both in the iteration order of the map and sets that Kafka stores."""


class Subscriber(msgspec.Struct, gc=False):
    """A member as the group knows it.

    `topics`: the names it gave, as they were put into its set: sorted, as the log has them, but for the member whose heartbeat brings
    them, whose order is the request's. `regex`: its regular expression ("" and None: none), `matched`: the names that it resolved to.
    `target`: the old one. `spread`: of its id, as Java's maps take it; None: nobody knows it yet.
    Members that subscribe alike best share the very same `topics` and `matched`: what these say is looked at once then.
    """

    member_id: str
    group_instance_id: str | None
    topics: Sequence[str]
    target: Target
    regex: str | None = None
    matched: Sequence[str] = ()
    spread: int | None = None


class Subscription(msgspec.Struct, gc=False):
    """Existing topics that a member subscribes to, in the order in which its set gives them; `size` counts names that do not exist too."""

    ids: tuple[bytes, ...]
    size: int
    known: frozenset[bytes]


class Member(msgspec.Struct, gc=False):
    """A member as assignors see it."""

    member_id: str
    group_instance_id: str | None
    subscription: Subscription
    target: Target


class Group(msgspec.Struct):
    """Members in the order of Kafka's map. `homogeneous`: as Kafka judges it, all subscribe alike. `partitions`: topic id -> how many."""

    members: list[Member]
    homogeneous: bool
    partitions: dict[bytes, int]


def group_of(subscribers: Sequence[Subscriber], topics: Mapping[str, tuple[bytes, int]], replaced: str | None, alike: bool) -> Group:
    """Shapes as `assignors.assign` has them."""
    subscriptions = _subscriptions(subscribers, topics)
    members = [
        Member(one.member_id, one.group_instance_id, subscription, one.target)
        for one, subscription in zip(subscribers, subscriptions, strict=True)
    ]
    return Group([members[number] for number in _member_order(subscribers, replaced)], alike, dict(topics.values()))


def _subscriptions(subscribers: Sequence[Subscriber], topics: Mapping[str, tuple[bytes, int]]) -> Iterator[Subscription]:
    """Of each. What several share is looked at once."""
    names_once = Kind(cache(STRINGS.spread), STRINGS.rank)
    seen: dict[tuple[int, int], Subscription] = {}  # by what they are: every one is held by a subscriber
    read: dict[tuple[tuple[str, ...], tuple[str, ...]], Subscription] = {}
    for one in subscribers:
        found = seen.get(place := (id(one.topics), id(one.matched) if one.regex else 0))
        if found is None:
            names = (tuple(one.topics), tuple(one.matched) if one.regex else ())
            if names not in read:
                read[names] = _subscription(*names, topics, names_once)
            found = seen[place] = read[names]
        yield found


def _member_order(subscribers: Sequence[Subscriber], replaced: str | None) -> Iterable[int]:
    """Their numbers. The last one may replace a static member: both changes are a map of their own, in whose order they are made."""
    spreads = [STRINGS.spread(one.member_id) if one.spread is None else one.spread for one in subscribers]
    kind: Kind[int] = Kind(spreads.__getitem__, lambda number: STRINGS.rank(subscribers[number].member_id))
    if replaced is None:
        return filled_order(kind, range(len(spreads)), SMALLEST_TABLE)
    last, gone = len(spreads) - 1, next(number for number, one in enumerate(subscribers) if one.member_id == replaced)
    order = HashKeys(kind, keys=range(last))
    for changed in copied_order(kind, (last, gone)):
        if changed == gone:
            order.remove(changed)
        else:
            order.put(changed)
    return order


def _subscription(
    names: tuple[str, ...], matched: tuple[str, ...], topics: Mapping[str, tuple[bytes, int]], kind: Kind[str]
) -> Subscription:
    """Names and matches together: the larger set first, then what only the smaller one has."""
    given, found = (copied_order(kind, each) for each in (names, matched))
    large, small = (given, found) if len(given) > len(found) else (found, given)
    ordered = list(dict.fromkeys(large + small)) if small else large
    ids = tuple(topics[name][0] for name in ordered if name in topics)
    return Subscription(ids, len(ordered), frozenset(ids))
