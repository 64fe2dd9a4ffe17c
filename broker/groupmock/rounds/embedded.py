"""Decode the subscriptions and assignments of a generation's members from the bytes in JoinGroup and SyncGroup, for every known assignor
protocol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from groupmock_codec.embedded import connect, consumer, designs
from groupmock_codec.embedded.connect import ConnectorTasks
from groupmock_codec.embedded.consumer import TopicPartitions
from groupmock_codec.errors import DecodeError

Partition = tuple[str, int]
Partitions = frozenset[Partition]
REMEMBERED: Final = 1024
"""The size of the cache of decoded bytes. The same bytes are decoded when a member joins, when the leader gets them and when the leader
assigns."""
EAGER: Final = frozenset({"range", "roundrobin", "sticky"})


@dataclass(frozen=True, slots=True)
class Claim:
    """The Subscription of a member: its topics, and the partitions that it says it owns (none for an eager member)."""

    topics: frozenset[str]
    owned: Partitions


@dataclass(frozen=True, slots=True)
class Instruction:
    """The Assignment of a member: the partitions that it owns from now on, those that it must give up, and after how many ms it has to
    join again (0: not at all)."""

    assigned: Partitions
    revoked: Partitions
    timeout_ms: int


NOTHING: Final = Instruction(frozenset(), frozenset(), 0)


@lru_cache(REMEMBERED)
def claim_of(protocol_type: str, protocol: str, data: bytes) -> Claim:
    """Decode the metadata with which a member joins: its subscription, and the partitions that it says it owns. Connect's "partitions"
    are (connector, task), with task -1 for the connector itself; Connect has no topics."""
    if protocol_type == "connect":
        return Claim(frozenset(), _claimed_tasks(data))
    stock = consumer.read_subscription(data)
    if stock is None:
        return Claim(frozenset(), frozenset())
    carried = designs.carried_subscription(stock.user_data)
    if carried is not None:
        return Claim(frozenset(stock.topics), flat(carried.assigned_topic_partitions))
    held = designs.read_assignor_data(stock.user_data) if protocol in designs.LITERAL else None
    return Claim(frozenset(stock.topics), flat(stock.owned_partitions) | (flat(held.owned) if held is not None else frozenset()))


@lru_cache(REMEMBERED)
def told_of(protocol_type: str, protocol: str, data: bytes, claim: Claim) -> Instruction:
    """Decode the Assignment of a member. If the protocol does not name the partitions to give up (KIP-429), they are those that were
    claimed and not assigned."""
    if protocol_type == "connect":
        return _connect(data, claim)
    if protocol in designs.LITERAL:
        literal = designs.read_assignment(data)
        return NOTHING if literal is None else _told(literal, flat(literal.assigned_topic_partitions))
    stock = consumer.read_assignment(data)
    if stock is None:
        return Instruction(frozenset(), claim.owned, 0)
    assigned = flat(stock.assigned_partitions)
    carried = designs.carried_assignment(stock.user_data)
    return Instruction(assigned, claim.owned - assigned, 0) if carried is None else _told(carried, assigned)


def flat(found: Iterable[TopicPartitions] | None) -> Partitions:
    """Return the partitions of several topics as (topic, partition) pairs; null counts as an empty list."""
    return frozenset((each.topic, number) for each in found or () for number in each.partitions)


def _told(design: designs.DesignAssignment, assigned: Partitions) -> Instruction:
    return Instruction(assigned, flat(design.revoke_topic_partitions), design.scheduled_rebalance_timeout)


def _connect(data: bytes, claim: Claim) -> Instruction:
    try:
        found = connect.decode_assignment(data)
    except DecodeError:  # The bytes are empty, or a Connect worker could not read them.
        return Instruction(frozenset(), claim.owned, 0)
    new, revoked = _tasks(found.assigned), _tasks(found.revoked)
    # Version 0 lists all tasks; from version 1 on `assigned` lists only new ones (KIP-415, docs/kafka/embedded-protocols.md#kafka-connect).
    return Instruction((claim.owned - revoked) | new if found.version else new, revoked, found.delay)


def _claimed_tasks(data: bytes) -> Partitions:
    try:
        # A Connect worker reports its whole Assignment with its version, or null if it has none
        # (docs/kafka/embedded-protocols.md#kafka-connect).
        allocation = connect.decode_metadata(data).allocation
        return _tasks(connect.decode_assignment(allocation).assigned) if allocation else frozenset()
    except DecodeError:
        return frozenset()


def _tasks(found: Iterable[ConnectorTasks] | None) -> Partitions:
    return frozenset((each.connector, task) for each in found or () for task in each.tasks)
