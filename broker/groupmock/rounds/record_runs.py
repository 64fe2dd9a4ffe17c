"""Calculate with runs of records. A run is the offsets of records from its first to its last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Run = tuple[int, int]


def joined(runs: Iterable[Sequence[int]]) -> list[Run]:
    """Return the runs in order, with neighbours put together. What a run has behind its last offset is ignored."""
    found: list[Run] = []
    for first, last in sorted((run[0], run[1]) for run in runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def without(runs: Iterable[Run], gone: Iterable[Sequence[int]]) -> list[Run]:
    """Return the runs without the records of others, in their order."""
    left = list(runs)
    for first_gone, last_gone, *_ in gone:
        parts = [part for first, last in left for part in ((first, min(last, first_gone - 1)), (max(first, last_gone + 1), last))]
        left = [part for part in parts if part[0] <= part[1]]
    return left
