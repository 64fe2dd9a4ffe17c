"""The states of a group by Kafka's names, as DescribeGroups, ListGroups, ConsumerGroupDescribe and the rows of a journal have them."""

from __future__ import annotations

from typing import Final

EMPTY: Final = "Empty"
STABLE: Final = "Stable"
DEAD: Final = "Dead"

PREPARING_REBALANCE: Final = "PreparingRebalance"
"""Only classic groups have this state and the next one (org.apache.kafka.coordinator.group.classic.ClassicGroupState)."""
COMPLETING_REBALANCE: Final = "CompletingRebalance"

ASSIGNING: Final = "Assigning"
"""Only consumer groups have this state and the next one (KIP-848)."""
RECONCILING: Final = "Reconciling"
