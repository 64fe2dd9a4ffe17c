"""Measurements gathered in rounds, and the one table they are printed as."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .targets import TARGETS, Target, Verdict


@dataclass
class Measured:
    """What was measured for one target: one value per round, or the reason why there is none."""

    values: list[float] = field(default_factory=list)
    reason: str = ""

    @property
    def median(self) -> float:
        """The figure that counts."""
        return statistics.median(self.values)

    def verdict(self, target: Target) -> Verdict:
        """The median against the target; unknown when nothing was measured."""
        return target.verdict(self.median) if self.values else Verdict.UNKNOWN


@dataclass
class Measurements:
    """All rows by target key, and what else a reader may want to know (absolute figures, sizes), by name."""

    rows: dict[str, Measured] = field(default_factory=dict)
    details: dict[str, list[float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, key: str, value: float) -> None:
        """One round's value of a target."""
        if key not in TARGETS:
            raise KeyError(f"no target is called {key}")
        self.rows.setdefault(key, Measured()).values.append(value)

    def detail(self, name: str, value: float) -> None:
        """One round's value of something without a target."""
        self.details.setdefault(name, []).append(value)

    def missing(self, keys: Iterable[str], reason: str) -> None:
        """Targets that could not be measured, and why; what earlier rounds gave for them stands."""
        for key in keys:
            row = self.rows.setdefault(key, Measured())
            if not row.values:  # what was measured before the figure broke off has a value, and needs no excuse
                row.reason = reason

    def note(self, text: str) -> None:
        """A sentence for under the table, once."""
        if text not in self.notes:
            self.notes.append(text)

    def worst(self) -> Verdict:
        """MISSED when any floor was, else UNKNOWN when any figure is missing, else FLOOR."""
        verdicts = {row.verdict(TARGETS[key]) for key, row in self.rows.items()}
        for each in (Verdict.MISSED, Verdict.UNKNOWN):
            if each in verdicts:
                return each
        return Verdict.FLOOR


def number(value: float | None) -> str:
    """Three significant figures, no exponent."""
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
    """The table in Markdown, its columns aligned for a terminal."""
    lines = [HEADINGS, *(_cells(TARGETS[key], results.rows[key]) for key in TARGETS if key in results.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    drawn = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines]
    drawn.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(drawn)


def details(results: Measurements) -> str:
    """The absolute figures behind the ratios: they compare with nothing outside this run."""
    lines = []
    for name, values in results.details.items():
        lines.append(f"  {name}: {number(statistics.median(values))} ({number(min(values))} .. {number(max(values))})")
    return "\n".join(lines)


def as_json(results: Measurements, machine: Mapping[str, str]) -> dict[str, object]:
    """Everything, for a file."""
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
