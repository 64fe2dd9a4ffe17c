"""The orders in which a consumer group's lists are answered: those of Java's hash maps (CG-108)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...java.hash_maps import INTS, STRINGS, UUIDS, HashKeys, changed_order, copied_order, filled_order, room_for
from ...java.hashes import uuid_hash
from ...java.orders import SMALLEST_TABLE, java_computed_order, java_order
from .group import Held, Spot

if TYPE_CHECKING:
    from .assignors import Target


def by_topic(spots: Iterable[Spot]) -> list[tuple[bytes, list[int]]]:
    """Topics as a hash map of their ids has them, each with its partitions as a hash set has those."""
    return [(topic, java_order(indexes, int)) for topic, indexes in _in_order(_grouped(spots), java_order)]


def held(assigned: Iterable[Spot], revoking: Iterable[Spot]) -> list[tuple[bytes, list[int]]]:
    """What a member is described to have: topics as a hash map that was filled by `compute` has them, in each first what it may have and
    then what it gives up."""
    found: dict[bytes, list[int]] = {}
    for part in (assigned, revoking):
        for topic, indexes in _grouped(part).items():
            found.setdefault(topic, []).extend(java_order(indexes, int))
    return _in_order(found, java_computed_order)


def _grouped(spots: Iterable[Spot]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for topic, index in spots:
        found.setdefault(topic, []).append(index)
    return found


def _in_order(
    found: dict[bytes, list[int]], order: Callable[[Iterable[bytes], Callable[[bytes], int]], list[bytes]]
) -> list[tuple[bytes, list[int]]]:
    return [(topic, found[topic]) for topic in order(found, uuid_hash)]


def given(kept: Held, new: Held, target: Target, had: Held) -> Held:
    """What a member has from now on, as CurrentAssignmentBuilder lays it out.

    A map of topics into which what is kept is put first, and what is new comes by `compute`, both in the order of a set of all
    topics of the target and of what it had. Each topic's partitions are a copy of the map that it had, no larger than it needed to be:
    4 comes before 3 there (seen on 4.3.0). Where nothing is kept they are a new map.
    """
    every = filled_order(UUIDS, [*target, *(topic for topic, _ in had)], max(room_for(len(target)), SMALLEST_TABLE))
    old, fresh = _grouped(kept), _grouped(new)
    topics = HashKeys(UUIDS, keys=[topic for topic in every if topic in old])
    for topic in filled_order(UUIDS, [topic for topic in every if topic in fresh], SMALLEST_TABLE):
        topics.compute(topic)
    spots, before = kept | new, _grouped(had)
    laid_out = {topic: _laid_out(before.get(topic, []), old.get(topic, []), fresh.get(topic, [])) for topic in topics}
    return {(topic, index): spots[topic, index] for topic, indexes in laid_out.items() for index in indexes}


def _laid_out(had: list[int], kept: list[int], new: list[int]) -> list[int]:
    if not kept:
        return changed_order(INTS, (), (), new, SMALLEST_TABLE)
    return changed_order(INTS, java_order(had, int), list({*had}.difference(kept)), new, room_for(len(had)))


def remaining(had: Held, kept: Held) -> Held:
    """What a member has from now on where whole topics are taken from it: what stays in a copy of the map that it had, which is no larger
    than that needed to be."""
    parts = dict(by_topic(had))
    topics = HashKeys(UUIDS, room_for(len(parts)), parts)
    return {(topic, index): kept[topic, index] for topic in topics for index in parts[topic] if (topic, index) in kept}


def as_laid_out(spots: Iterable[Spot]) -> list[tuple[bytes, list[int]]]:
    """What `given` gave, as the answer to the heartbeat of that moment has it."""
    return list(_grouped(spots).items())


def names(subscribed: Iterable[str]) -> list[str]:
    """Sorted, then as a hash set gives them back."""
    return list(copied_order(STRINGS, sorted(subscribed)))
