"""Journal rows to rebalances: what members of a group claimed, were told and heard, generation by generation."""

from __future__ import annotations
