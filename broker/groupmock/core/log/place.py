"""Identifies a partition as a request names it, and computes its hash in the maps of Kafka's handlers."""

from __future__ import annotations

from typing import NamedTuple

from ..java.hashes import id_partition_hash, partition_hash


class Place(NamedTuple):
    """A partition that a request names by its topic's name or by topic id. With an id, `name` is the topic's name, or "" if the id is
    unknown."""

    name: str
    topic_id: bytes
    partition: int


def by_name(place: Place) -> int:
    """Return the `hashCode()` of Kafka's TopicPartition for the place."""
    return partition_hash((place.name, place.partition))


def by_id(place: Place) -> int:
    """Return the `hashCode()` of Kafka's TopicIdPartition for the place."""
    return id_partition_hash((place.name, place.partition), place.topic_id)
