"""One smoke run of the cooperative assignor per stock library: only what moves is told, what stays goes on where it was.

At length, and for every design: tests/live/cooperative (`make live`).
"""

from __future__ import annotations

from typing import Any

import pytest
from coop_house import ALL, LIBRARIES, PER_PARTITION, everything, fill, holding


@pytest.mark.parametrize("library", LIBRARIES)
def test_only_what_moves_is_told(library: str, house: Any) -> None:
    """Nothing is committed but what is handed over: without positions that survive, what stays would be read again."""
    fill(house)
    settings = {"design": 2, "delay_ms": 3_600_000, "max_moves": 4}
    first = house.stock(library, "A", settings, commit_revoked=True)
    holding(house, first)
    everything(house, first, each=PER_PARTITION)
    second = house.stock(library, "B", settings, commit_revoked=True)
    holding(house, first, second, sizes=[2, 2])
    moved = frozenset({("T", 2), ("T", 3)})
    fill(house)
    counts = everything(house, first, second, each=2 * PER_PARTITION)
    assert set(counts.values()) == {1}, "nothing twice"
    assert first.told == [("assigned", ALL), ("revoked", moved)]
    assert second.told == [("assigned", moved)]
