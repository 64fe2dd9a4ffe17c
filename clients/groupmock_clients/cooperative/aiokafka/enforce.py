"""Provide enforceRebalance (KIP-568) for aiokafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiokafka.errors import IllegalStateError

from ..asked import EnforcedRebalance, tell

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer

    from .twin import CooperativeConsumer


def enforce_rebalance(consumer: AIOKafkaConsumer | CooperativeConsumer, reason: str | None = None) -> bool:
    """Make the consumer rejoin with its owned partitions without waiting for the rebalance (KIP-568), also as a static member. Call it from
    the consumer's own event loop.

    Returns False, without any effect, while a rebalance is in progress or requested. Raises IllegalStateError without a group subscription.
    `reason` is logged and passed to `asked.hooks`, because aiokafka cannot send it. Under another assignor than ours, a *follower's*
    JoinGroup is the same as before, and Kafka answers it with the last round's result. The call then has no effect unless the member leads.
    """
    # In a CooperativeConsumer only this inner consumer is in the group.
    inside: AIOKafkaConsumer = getattr(consumer, "_membership", consumer)
    state, coordinator = inside._subscription, inside._coordinator
    if coordinator is None or inside._group_id is None or not state.partitions_auto_assigned():
        raise IllegalStateError("enforce_rebalance needs a started consumer that subscribed to topics in a group")
    # As in Java's implementation of KIP-568, a call during a rebalance does nothing (docs/kafka/seed-documents.md#kip-568).
    if state.reassignment_in_progress or coordinator._rejoin_needed_fut.done():
        return False
    tell(EnforcedRebalance(inside._client._client_id, coordinator.member_id, inside._group_id, reason))
    coordinator.request_rejoin()
    return True
