"""The function of KIP-568, enforceRebalance, for aiokafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiokafka.errors import IllegalStateError

from ..asked import EnforcedRebalance, tell

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer

    from .twin import CooperativeConsumer


def enforce_rebalance(consumer: AIOKafkaConsumer | CooperativeConsumer, reason: str | None = None) -> bool:
    """Rejoin with the owned partitions without waiting for it (KIP-568), static members too. Call it from the consumer's own event loop.

    Returns False, without any effect, while a rebalance is in progress or requested. Raises IllegalStateError without a group subscription.
    `reason` is logged and passed to `asked.hooks`, because aiokafka cannot send it. Under another assignor than ours, a *follower's*
    JoinGroup is the same as before, and Kafka answers it with the last round's result. The call then has no effect unless the member leads.
    """
    inside: AIOKafkaConsumer = getattr(consumer, "_membership", consumer)  # the half of a CooperativeConsumer that is in the group
    state, coordinator = inside._subscription, inside._coordinator
    if coordinator is None or inside._group_id is None or not state.partitions_auto_assigned():
        raise IllegalStateError("enforce_rebalance needs a started consumer that subscribed to topics in a group")
    # KIP-568 as Java shipped it: a call during a round is a no-op (docs/kafka/seed-documents.md#kip-568).
    if state.reassignment_in_progress or coordinator._rejoin_needed_fut.done():
        return False
    tell(EnforcedRebalance(inside._client._client_id, coordinator.member_id, inside._group_id, reason))
    coordinator.request_rejoin()
    return True
