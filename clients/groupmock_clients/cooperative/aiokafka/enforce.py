"""KIP-568 for aiokafka: asking for a round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiokafka.errors import IllegalStateError

from ..asked import EnforcedRebalance, tell

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer

    from .twin import CooperativeConsumer


def enforce_rebalance(consumer: AIOKafkaConsumer | CooperativeConsumer, reason: str | None = None) -> bool:
    """KIP-568: join again with what is owned, static members too, without waiting for it. From the consumer's own event loop.

    Returns whether it asked: nothing happens while a rebalance is in progress or asked for. IllegalStateError without a group
    subscription. `reason` is logged and told to `asked.hooks`; aiokafka cannot send it. Under another assignor than ours a *follower's*
    JoinGroup is the same as before, which Kafka answers with the last round: the call then does nothing unless the member leads.
    """
    inside: AIOKafkaConsumer = getattr(consumer, "_membership", consumer)  # of a twin the half that is in the group
    state, coordinator = inside._subscription, inside._coordinator
    if coordinator is None or inside._group_id is None or not state.partitions_auto_assigned():
        raise IllegalStateError("enforce_rebalance needs a started consumer that subscribed to topics in a group")
    # KIP-568 as Java shipped it: a call during a round is a no-op (docs/kafka/seed-documents.md#kip-568).
    if state.reassignment_in_progress or coordinator._rejoin_needed_fut.done():
        return False
    tell(EnforcedRebalance(inside._client._client_id, coordinator.member_id, inside._group_id, reason))
    coordinator.request_rejoin()
    return True
