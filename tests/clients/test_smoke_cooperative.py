"""The cooperative assignor of each stock library moves only what it must, and kept partitions go on where they were.

At length, and for every design: tests/live/cooperative (`make live`).
"""

from __future__ import annotations

from typing import Any

import pytest
from coop_house import ALL, LIBRARIES, PER_PARTITION, everything, fill, holding


@pytest.mark.parametrize("library", LIBRARIES)
def test_only_what_moves_is_told(library: str, house: Any) -> None:
    """Offsets are committed only at a hand-over, so kept partitions would be read again if their positions were lost."""
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
