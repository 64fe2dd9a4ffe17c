"""Are consumer groups served? Said twice: by each broker's settings, and by what the cluster has agreed on (KIP-848, KIP-1022).

In Kafka: KafkaApis.isConsumerGroupProtocolEnabled. A release that has no such feature goes by its settings alone.
"""

from __future__ import annotations

from typing import Final

from ...turn import Turn

FEATURE: Final = "group.version"


def served(turn: Turn) -> bool:
    """By the settings and the finalized level as they are now."""
    return turn.settings.consumer_protocol and turn.environment.identity.level(FEATURE) != 0
