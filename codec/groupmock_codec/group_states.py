"""Defines the states of a group by the names that Kafka uses in DescribeGroups, ListGroups and ConsumerGroupDescribe; journal rows have
the same names."""

from __future__ import annotations

from typing import Final

EMPTY: Final = "Empty"
STABLE: Final = "Stable"
DEAD: Final = "Dead"

PREPARING_REBALANCE: Final = "PreparingRebalance"
"""Only classic groups can be in this state or in CompletingRebalance (org.apache.kafka.coordinator.group.classic.ClassicGroupState)."""
COMPLETING_REBALANCE: Final = "CompletingRebalance"

ASSIGNING: Final = "Assigning"
"""Only consumer groups and streams groups can be in this state or in Reconciling (KIP-848, KIP-1071)."""
RECONCILING: Final = "Reconciling"
NOT_READY: Final = "NotReady"
"""Only streams groups can be in this state (KIP-1071)."""
