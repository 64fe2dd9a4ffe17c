"""One partition as named in a request, and its hash in the maps of Kafka's handlers."""

from __future__ import annotations

from typing import NamedTuple

from ..java.hashes import id_partition_hash, partition_hash


class Place(NamedTuple):
    """A partition named by its topic's `name` or by `topic_id`. With an id, `name` is the topic's name, or "" if the id is unknown."""

    name: str
    topic_id: bytes
    partition: int


def by_name(place: Place) -> int:
    """Return the `hashCode()` of its TopicPartition."""
    return partition_hash((place.name, place.partition))


def by_id(place: Place) -> int:
    """Return the `hashCode()` of its TopicIdPartition."""
    return id_partition_hash((place.name, place.partition), place.topic_id)
