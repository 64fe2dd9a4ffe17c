"""Builds the table of endpoints for interactive queries: where each partition of the group's topics is processed (ST-130 to ST-138)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from groupmock_codec.messages.k88_streams_group_heartbeat import Endpoint, EndpointToPartitions, TopicPartition

from .group import Group, Member
from .topology import source_topics_of

if TYPE_CHECKING:
    from .tasks import Task


def table(group: Group, member: Member, unchecked: bool) -> list[EndpointToPartitions]:
    """Return an entry for each member with an endpoint, `member` last. `unchecked`: tasks count even if a topic has fewer partitions, as
    before Kafka 4.4."""
    others = [each for each in group.ordered() if each is not member and each.endpoint is not None]
    listed = [*others, member] if member.endpoint is not None else others
    if not listed:
        return []
    read = source_topics_of(group.topology) if group.topology is not None and group.is_ready else {}
    return [_entry(group, each, read, unchecked) for each in listed]


def _entry(group: Group, member: Member, read: dict[str, frozenset[str]], unchecked: bool) -> EndpointToPartitions:
    assert member.endpoint is not None
    host, port = member.endpoint
    return EndpointToPartitions(
        user_endpoint=Endpoint(host=host, port=port),
        active_partitions=_partitions(group, member.assigned.active, read, unchecked),
        standby_partitions=_partitions(group, member.assigned.standby, read, unchecked),
    )


def _partitions(group: Group, tasks: Iterable[Task], read: dict[str, frozenset[str]], unchecked: bool) -> list[TopicPartition]:
    found: dict[str, list[int]] = {}
    for subtopology, number in sorted(tasks):
        for name in read.get(subtopology, ()):
            topic = group.topics.get(name)
            if topic is not None and (unchecked or number < topic[1]):
                found.setdefault(name, []).append(number)
    return [TopicPartition(topic=name, partitions=found[name]) for name in sorted(found)]
