"""The orders in which a consumer group's lists are answered: those of Java's hash maps (CG-108)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...java.hash_maps import STRINGS, UUIDS, HashKeys, copied_order
from ...java.hashes import uuid_hash
from ...java.orders import java_computed_order, java_order
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
    topics of the target and of what it had.
    """
    every = HashKeys.copied(UUIDS, target)
    for topic, _ in had:
        every.put(topic)
    old, fresh = _grouped(kept), _grouped(new)
    pending, topics = HashKeys(UUIDS), HashKeys(UUIDS)
    for topic in every:
        if topic in old:
            topics.put(topic)
        if topic in fresh:
            pending.put(topic)
    for topic in pending:
        topics.compute(topic)
    spots = kept | new
    return {(topic, index): spots[topic, index] for topic in topics for index in (*old.get(topic, ()), *fresh.get(topic, ()))}


def names(subscribed: Iterable[str]) -> list[str]:
    """Sorted, then as a hash set gives them back."""
    return list(copied_order(STRINGS, sorted(subscribed)))
