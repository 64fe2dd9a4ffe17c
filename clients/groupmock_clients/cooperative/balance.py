"""Compute a sticky and balanced assignment from the current one. The functions are pure and deterministic.

Balanced means that no member can give a partition to a subscriber of its topic that has at least two fewer. If all subscribe to the same
topics, the counts differ by one at most. Ties are broken by the bytes of member ids, and a member's highest partition moves first.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

Partition = tuple[str, int]
Subscribers = Mapping[str, tuple[str, ...]]
"""Maps each topic to its subscribers in the order of their ids (`by_id`)."""


def by_id(member: str) -> bytes:
    """Return the key by which members are sorted, which is the id as bytes."""
    return member.encode()


def subscribers_of(subscriptions: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """Convert a map of members to topics into a map of topics to members."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for member in sorted(subscriptions, key=by_id):
        for topic in subscriptions[member]:
            found[topic].append(member)
    return {topic: tuple(members) for topic, members in found.items()}


def place(held: Mapping[Partition, str], loose: Iterable[Partition], subscribers: Subscribers) -> dict[Partition, str]:
    """Assign every unowned partition to the subscriber with the fewest partitions so far. Partitions with the fewest subscribers come
    first."""
    loads = Counter(held.values())
    heaps: dict[tuple[str, ...], list[tuple[int, bytes, str]]] = {}
    target = dict(held)
    for partition in sorted(loose, key=lambda each: (len(subscribers[each[0]]), each)):
        able = subscribers[partition[0]]
        heap = heaps.get(able)
        if heap is None:
            heap = heaps[able] = [(loads[member], by_id(member), member) for member in able]
            heapq.heapify(heap)
        # The heap entry is outdated if the member has got partitions of another topic since the entry was made.
        while heap[0][0] != loads[heap[0][2]]:
            heapq.heapreplace(heap, (loads[heap[0][2]], heap[0][1], heap[0][2]))
        least = heap[0][2]
        target[partition] = least
        loads[least] += 1
    return target


def even_out(held: Mapping[Partition, str], free: Collection[Partition], subscribers: Subscribers) -> dict[Partition, str]:
    """Balance the assignment `held` by moving few partitions. Partitions in `free` move at no cost, because no member owns them yet."""
    free, groups = frozenset(free), set(subscribers.values())
    if len(groups) <= 1:
        return _even_out_alike(held, free, next(iter(groups), ()))
    return _even_out_apart(held, free, subscribers)


def _even_out_alike(held: Mapping[Partition, str], free: Collection[Partition], members: tuple[str, ...]) -> dict[Partition, str]:
    """Balance an assignment among members that all subscribe to the same topics. The fullest members keep one more than the others, so
    that the moves are the fewest possible."""
    loads = Counter(held.values())
    least, more = divmod(len(held), len(members)) if members else (0, 0)
    ranked = sorted(members, key=lambda member: (-loads[member], by_id(member)))
    wanted = {member: least + (place < more) for place, member in enumerate(ranked)}
    has = _by_member(held)
    leaving: list[Partition] = []
    for member in ranked:
        leaving += _first_to_leave(has[member], free)[: max(0, loads[member] - wanted[member])]
    target = dict(held)
    room = [member for member in sorted(members, key=by_id) for _ in range(wanted[member] - loads[member])]
    target.update(zip(leaving, room, strict=True))
    return target


def _even_out_apart(held: Mapping[Partition, str], free: Collection[Partition], subscribers: Subscribers) -> dict[Partition, str]:
    """Move single partitions away from the fullest members, until no move improves the balance. Each move lowers the sum of squared
    counts, so the loop ends."""
    target = dict(held)
    loads, has = Counter(held.values()), _by_member(held)
    while (move := _helping_move(loads, has, free, subscribers)) is not None:
        partition, giver, taker = move
        target[partition] = taker
        loads[giver] -= 1
        loads[taker] += 1
        has[giver].remove(partition)
        has[taker].add(partition)
    return target


class Move(NamedTuple):
    """The move of one partition to another member."""

    partition: Partition
    giver: str
    taker: str


def _helping_move(
    loads: Mapping[str, int], has: Mapping[str, set[Partition]], free: Collection[Partition], subscribers: Subscribers
) -> Move | None:
    for giver in sorted(has, key=lambda member: (-loads[member], by_id(member))):
        takers = {topic: min(subscribers[topic], key=lambda one: (loads[one], by_id(one))) for topic in {each[0] for each in has[giver]}}
        useful = {topic: taker for topic, taker in takers.items() if loads[taker] <= loads[giver] - 2}
        if useful:
            fewest = min(loads[taker] for taker in useful.values())
            able = [each for each in has[giver] if each[0] in useful and loads[useful[each[0]]] == fewest]
            partition = _first_to_leave(able, free)[0]
            return Move(partition, giver, useful[partition[0]])
    return None


def is_balanced(held: Mapping[Partition, str], subscribers: Subscribers) -> bool:
    """Tell whether no member could give a partition to a subscriber of its topic that has at least two fewer."""
    loads = Counter(held.values())
    fewest = {topic: min(loads[member] for member in members) for topic, members in subscribers.items()}
    return all(loads[member] < fewest[partition[0]] + 2 for partition, member in held.items())


def _by_member(held: Mapping[Partition, str]) -> defaultdict[str, set[Partition]]:
    has: defaultdict[str, set[Partition]] = defaultdict(set)
    for partition, member in held.items():
        has[member].add(partition)
    return has


def _first_to_leave(partitions: Iterable[Partition], free: Collection[Partition]) -> list[Partition]:
    return sorted(sorted(partitions, reverse=True), key=lambda each: each not in free)
