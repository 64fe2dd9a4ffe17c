"""The function of KIP-568, enforceRebalance, for kafka-python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.errors import IllegalStateError

from ..asked import EnforcedRebalance, tell

if TYPE_CHECKING:
    from kafka import KafkaConsumer

    from .twin import CooperativeConsumer


def enforce_rebalance(consumer: KafkaConsumer | CooperativeConsumer, reason: str | None = None) -> bool:
    """Rejoin at the next poll with the owned partitions (KIP-568), static members too. May be called from any thread.

    Returns False, without any effect, while a rebalance is in progress or requested. Raises IllegalStateError without a group subscription.
    `reason` is logged and passed to `asked.hooks`, because kafka-python cannot send it. Under another assignor than ours, a *follower's*
    JoinGroup is the same as before, and Kafka answers it with the last round's result. The call then has no effect unless the member leads.
    """
    inside: KafkaConsumer = getattr(consumer, "_membership", consumer)  # the half of a CooperativeConsumer that is in the group
    coordinator = inside._coordinator
    if inside.config["group_id"] is None or not inside._subscription.partitions_auto_assigned():
        raise IllegalStateError("enforce_rebalance needs a consumer that subscribed to topics in a group")
    # KIP-568 as Java shipped it: a call during a round is a no-op (docs/kafka/seed-documents.md#kip-568).
    if coordinator.rejoining or coordinator.need_rejoin():
        return False
    tell(EnforcedRebalance(inside.config["client_id"], coordinator._generation.member_id, coordinator.group_id, reason))
    coordinator.request_rejoin()
    return True
