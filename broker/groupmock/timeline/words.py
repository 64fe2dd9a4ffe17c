"""Format partitions and times for the forms of pictures that Python code writes."""

from __future__ import annotations

from typing import Final

from groupmock_codec.units import NS_PER_S

from ..story.words import partitions_text
from .model import Timeline

STEPS: Final[tuple[int, ...]] = (
    *(base * 10**power for power in range(3, 10) for base in (1, 2, 5)),
    *(seconds * NS_PER_S for seconds in (10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)),
)
"""The possible distances in ns between the ticks of an axis: 1, 2 and 5 of a decimal place, then the steps of a clock."""


def held_text(timeline: Timeline, held: int) -> str:
    """Return a set of partitions of a picture in the form "orders/0-3 bills/0"."""
    return partitions_text([(timeline.topics[each.topic], number) for each in timeline.sets[held] for number in each.numbers])


def by_number(name: str) -> tuple[str, int]:
    """Return a key by which m2 comes before m10."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return stem, int(digits) if 0 < len(digits) <= 18 else 0


def step_of(span: int, most: int) -> int:
    """Return the distance in ns between ticks with which a period of `span` ns has at most `most` ticks."""
    days = STEPS[-1] * (1 + span // STEPS[-1] // max(1, most))
    return next((step for step in STEPS if span / step <= most), days)


def clock_text(at: int, step: int) -> str:
    """Return the label of a tick: 12.5 s, or from a minute on 2:30 or 1:02:00."""
    if step >= 10 * NS_PER_S or at >= 600 * NS_PER_S:
        whole = at // NS_PER_S
        hours, minutes, seconds = whole // 3600, whole // 60 % 60, whole % 60
        part = f"{at % NS_PER_S / NS_PER_S:.3f}".removeprefix("0").rstrip("0").rstrip(".") if step < NS_PER_S else ""
        return f"{hours}:{minutes:02}:{seconds:02}{part}" if hours else f"{minutes}:{seconds:02}{part}"
    places = next((places for places in range(10) if step % 10 ** (9 - places) == 0), 9)
    return f"{at / NS_PER_S:.{places}f} s"
