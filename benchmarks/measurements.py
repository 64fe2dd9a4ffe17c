"""Collects measurements in rounds and prints them as one table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .targets import TARGETS, Target, Verdict


@dataclass
class Measured:
    """The measurements of one target: one value per round, or the reason why there is none."""

    values: list[float] = field(default_factory=list)
    reason: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def verdict(self, target: Target) -> Verdict:
        """Compare the median of the measurements with the target. The verdict is UNKNOWN when nothing was measured."""
        return target.verdict(self.median) if self.values else Verdict.UNKNOWN


@dataclass
class Measurements:
    """All rows by target key, and further facts for readers (absolute figures, sizes) by name."""

    rows: dict[str, Measured] = field(default_factory=dict)
    details: dict[str, list[float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, key: str, value: float) -> None:
        if key not in TARGETS:
            raise KeyError(f"no target is called {key}")
        self.rows.setdefault(key, Measured()).values.append(value)

    def detail(self, name: str, value: float) -> None:
        """Add one round's value of a detail, which has no target."""
        self.details.setdefault(name, []).append(value)

    def missing(self, keys: Iterable[str], reason: str) -> None:
        """Record why targets could not be measured. Values of earlier rounds stay."""
        for key in keys:
            row = self.rows.setdefault(key, Measured())
            if not row.values:  # A target that was measured before the benchmark failed has a value and needs no reason.
                row.reason = reason

    def note(self, text: str) -> None:
        """Add a sentence below the table, unless it is there already."""
        if text not in self.notes:
            self.notes.append(text)

    def worst(self) -> Verdict:
        """Return the overall verdict: MISSED if any floor was missed, else UNKNOWN if any figure is missing, else FLOOR."""
        verdicts = {row.verdict(TARGETS[key]) for key, row in self.rows.items()}
        for each in (Verdict.MISSED, Verdict.UNKNOWN):
            if each in verdicts:
                return each
        return Verdict.FLOOR


def number(value: float | None) -> str:
    """Format a number with three significant figures and without an exponent."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.01 or value == 0 else f"{value:.4f}"


HEADINGS = ("figure", "unit", "floor", "moonshot", "measured", "min .. max", "verdict")


def _cells(target: Target, row: Measured) -> tuple[str, ...]:
    bound = "" if target.higher_is_better else "<= "
    limits = (bound + number(target.floor), bound + number(target.moonshot))
    if not row.values:
        return (target.what, target.unit, *limits, "-", "-", f"{Verdict.UNKNOWN.value}: {row.reason}")
    spread = f"{number(min(row.values))} .. {number(max(row.values))}"
    return (target.what, target.unit, *limits, number(row.median), spread, row.verdict(target).value)


def table(results: Measurements) -> str:
    """Return the table in Markdown, its columns aligned for a terminal."""
    lines = [HEADINGS, *(_cells(TARGETS[key], results.rows[key]) for key in TARGETS if key in results.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    drawn = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines]
    drawn.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(drawn)


def details(results: Measurements) -> str:
    """List the absolute figures behind the ratios. They are comparable only within this run."""
    lines = []
    for name, values in results.details.items():
        lines.append(f"  {name}: {number(statistics.median(values))} ({number(min(values))} .. {number(max(values))})")
    return "\n".join(lines)


def as_json(results: Measurements, machine: Mapping[str, str]) -> dict[str, object]:
    rows = {
        key: {
            "what": TARGETS[key].what,
            "unit": TARGETS[key].unit,
            "floor": TARGETS[key].floor,
            "moonshot": TARGETS[key].moonshot,
            "values": row.values,
            "median": row.median if row.values else None,
            "verdict": row.verdict(TARGETS[key]).value,
            "reason": row.reason,
        }
        for key, row in results.rows.items()
    }
    return {"machine": dict(machine), "rows": rows, "details": results.details, "notes": results.notes}
