"""Kafka's numbers and names of the types of acknowledgements in share groups (KIP-932; AcknowledgeType)."""

from __future__ import annotations

from typing import Final

GAP: Final = 0
ACCEPT: Final = 1
RELEASE: Final = 2
REJECT: Final = 3
RENEW: Final = 4
ACKNOWLEDGE_TYPES: Final = {GAP: "gap", ACCEPT: "accept", RELEASE: "release", REJECT: "reject", RENEW: "renew"}
"""Maps the number of each type to its name."""
