"""Compare the groups of two journals in one picture: what their rebalances were, what they moved, and how long partitions had no owner."""

from __future__ import annotations

from collections.abc import Iterator

from groupmock_codec.units import NS_PER_S

from ..rounds import PALE, UNOWNED
from .model import OWNERSHIP, Comparison, Figure, Group, Timeline
from .ownership_rows import PARTITION, unit_of

IDLE = frozenset((OWNERSHIP.index(PALE), OWNERSHIP.index(UNOWNED)))


class Incomparable(LookupError):
    """Raised if two journals have no group in common; the text says which groups they have."""


def compared(timeline: Timeline) -> list[Comparison]:
    """Return a comparison for each group that both journals have, or of their only groups. Raises Incomparable."""
    one, other = ([group for group in timeline.groups if group.source == source] for source in (0, 1))
    pairs = [(each, same) for each in one for same in other if each.name == same.name]
    if not pairs and len(one) == len(other) == 1:
        pairs = [(one[0], other[0])]
    if not pairs:
        names = ["; ".join(group.name for group in groups) or "none" for groups in (one, other)]
        raise Incomparable(f"the journals have no group in common: one has {names[0]}, the other {names[1]}")
    return [Comparison(each.name, list(_figures(timeline, each, same))) for each, same in pairs]


def sentence(comparison: Comparison) -> str:
    """Return a comparison in one sentence."""
    told = (f"{each.name} {each.before} -> {each.after} ({each.difference})" for each in comparison.figures)
    return f"{comparison.group}: {', '.join(told)}"


def _figures(timeline: Timeline, one: Group, other: Group) -> Iterator[Figure]:
    for name, first in (("first joins", True), ("rebalances", False)):
        yield _whole(name, *(sum(each.ended is not None and each.first_join == first for each in group.rounds) for group in (one, other)))
    yield _whole("generations", *(len(group.generations) for group in (one, other)))
    units = {unit_of(timeline, group) for group in (one, other)}
    unit = units.pop() if len(units) == 1 else PARTITION
    yield _whole(f"moved {unit}s", *(_moved(group) for group in (one, other)))
    before, after = (_unowned(timeline, group) for group in (one, other))
    yield Figure(f"{unit}-seconds without an owner", f"{before:.3f}", f"{after:.3f}", f"{after - before:+.3f}")


def _whole(name: str, before: int | None, after: int | None) -> Figure:
    difference = None if before is None or after is None else f"{after - before:+}"
    return Figure(name, _known(before), _known(after), _known(difference))


def _known(value: object) -> str:
    return "not known" if value is None else str(value)


def _moved(group: Group) -> int | None:
    moves = [each.moves for each in group.rounds]
    return None if None in moves else sum(each or 0 for each in moves)


def _unowned(timeline: Timeline, group: Group) -> float:
    """Return for how many partition-seconds nobody owned a partition that had an owner before."""
    end = timeline.sources[group.source].end
    idle = (each for each in group.owners if each.state in IDLE)
    return sum(((end if each.until is None else each.until) - each.since) * timeline.partitions(each.held) for each in idle) / NS_PER_S
