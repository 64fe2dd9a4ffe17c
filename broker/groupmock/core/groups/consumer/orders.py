"""The orders in which a consumer group's lists are answered: those of Java's hash maps (CG-108)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...java.hash_maps import STRINGS, copied_order
from ...java.hashes import uuid_hash
from ...java.orders import java_computed_order, java_order
from .group import Held, Spot

if TYPE_CHECKING:
    from .assignors import Target


def by_topic(spots: Iterable[Spot], merged: bool = False) -> list[tuple[bytes, list[int]]]:
    """Topics as a hash map of their ids has them, each with its partitions as a hash set has those. `merged`: the map was filled by
    `compute`, as that of what a member is described to have: what it may have and what it gives up are put together in it."""
    found: dict[bytes, list[int]] = {}
    for topic, index in spots:
        found.setdefault(topic, []).append(index)
    order = java_computed_order if merged else java_order
    return [(topic, java_order(found[topic], int)) for topic in order(found, uuid_hash)]


def given(spots: Held, target: Target) -> Held:
    """What a member is given, as the builder of its assignment has it: topic by topic of the target, each put by `compute`."""
    had: dict[bytes, Held] = {topic: {} for topic in target}
    for spot, epoch in spots.items():
        had[spot[0]][spot] = epoch
    topics = [topic for topic in java_computed_order(target, uuid_hash) if had[topic]]
    return {spot: epoch for topic in topics for spot, epoch in had[topic].items()}


def names(subscribed: Iterable[str]) -> list[str]:
    """Sorted, then as a hash set gives them back."""
    return list(copied_order(STRINGS, sorted(subscribed)))
