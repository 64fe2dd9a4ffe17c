"""Provide enforceRebalance (KIP-568) for kafka-python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.errors import IllegalStateError

from ..asked import EnforcedRebalance, tell

if TYPE_CHECKING:
    from kafka import KafkaConsumer

    from .twin import CooperativeConsumer


def enforce_rebalance(consumer: KafkaConsumer | CooperativeConsumer, reason: str | None = None) -> bool:
    """Make the consumer rejoin at its next poll with its owned partitions (KIP-568), also as a static member. May be called from any
    thread.

    Returns False, without any effect, while a rebalance is in progress or requested. Raises IllegalStateError without a group subscription.
    `reason` is logged and passed to `asked.hooks`, because kafka-python cannot send it. Under another assignor than ours, a *follower's*
    JoinGroup is the same as before, and Kafka answers it with the last round's result. The call then has no effect unless the member leads.
    """
    inside: KafkaConsumer = getattr(consumer, "_membership", consumer)  # In a CooperativeConsumer only this inner consumer is in the group.
    coordinator = inside._coordinator
    if inside.config["group_id"] is None or not inside._subscription.partitions_auto_assigned():
        raise IllegalStateError("enforce_rebalance needs a consumer that subscribed to topics in a group")
    # As in Java's implementation of KIP-568, a call during a rebalance does nothing (docs/kafka/seed-documents.md#kip-568).
    if coordinator.rejoining or coordinator.need_rejoin():
        return False
    tell(EnforcedRebalance(inside.config["client_id"], coordinator._generation.member_id, coordinator.group_id, reason))
    coordinator.request_rejoin()
    return True
