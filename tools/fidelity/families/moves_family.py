"""Generate exchanges of share groups on two nodes, on which the leaders of partitions move (KIP-932)."""

from __future__ import annotations

from ..generated.script import Script
from .shares_family import script_of


def generate(seed: int, release: str) -> Script:
    return script_of("moves", seed, release)
