"""The parts of a report as data: columns of a table become a table on the page, and a plot where that helps.

Columns are Spark SQL expressions. An expression that the table cannot answer, because a column is missing or has another name, is left out,
and the page says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

GROUPS: Final = 40
"""The greatest number of groups in a table. The first ones in its order are kept."""
LINES: Final = 20
QUANTILES: Final = {"median": 0.5, "p90": 0.9, "p99": 0.99}
FEW: Final = 30
"""The number of values from which p90 and p99 are shown. Of fewer values they would be the largest value or nearly so, and each value is
drawn as a dot instead."""
ACCURACY: Final = 1000
"""The accuracy of Spark's percentile_approx: a rank is off by at most a thousandth of the lines."""


@dataclass(frozen=True, slots=True)
class Value:
    """A column of a table on the report's page. `sql` is an expression over lines or an aggregate, depending on the shape. `other` are
    alternatives for a table that lacks its columns. `unit` is for example s, ms, partitions, or "" for a bare number or a text."""

    head: str
    sql: str
    unit: str = ""
    other: tuple[str, ...] = ()


def same(*names: str) -> tuple[Value, ...]:
    """Return values that show columns under their own names."""
    return tuple(Value(name.replace("_", " "), name) for name in names)


@dataclass(frozen=True, slots=True)
class Totals:
    """The table has a line per group with aggregates, sorted by the first one in descending order. `bars` is the head of the plotted
    value."""

    title: str
    by: tuple[Value, ...]
    values: tuple[Value, ...]
    about: str = ""
    where: str = "true"
    bars: str = ""
    limit: int = GROUPS


@dataclass(frozen=True, slots=True)
class Spread:
    """The table has a line per group with count, median, 90th and 99th percentile and maximum of one value, plotted. The largest groups
    come first. A group with fewer than FEW values has no percentiles but the median, and is plotted value by value.

    `of` names the lines of the table in the plural. `mark` is at most one aggregate that the plot shows beside them in the same unit.
    """

    title: str
    by: tuple[Value, ...]
    value: Value
    about: str = ""
    where: str = "true"
    mark: tuple[Value, ...] = ()
    of: str = "lines"
    limit: int = GROUPS


@dataclass(frozen=True, slots=True)
class Listing:
    """The first lines of a table in a given order."""

    title: str
    values: tuple[Value, ...]
    order: tuple[str, ...]
    about: str = ""
    where: str = "true"
    limit: int = LINES


@dataclass(frozen=True, slots=True)
class Grid:
    """The section has a table per value of `per`, with lines `down` and columns `across`. Each cell has one value, and a second one in
    brackets if it differs. Plotted.

    `beside` is at most one, the second value. `titled` says how many of `per` are in the title; the others are in a note.
    """

    title: str
    per: tuple[Value, ...]
    down: Value
    across: Value
    value: Value
    beside: tuple[Value, ...]
    about: str = ""
    where: str = "true"
    limit: int = 1000
    titled: int = 0


Shape = Totals | Spread | Listing | Grid


@dataclass(frozen=True, slots=True)
class Section:
    """The part of the page about one table. `none` is the text for a table without lines."""

    table: str
    title: str
    about: str
    shapes: tuple[Shape, ...]
    none: str = "The table is there and has no line."


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """The head of a column of a table in the report. Columns of numbers are aligned to the right."""

    text: str
    unit: str = ""
    number: bool = False

    def __str__(self) -> str:
        return f"{self.text}, {self.unit}" if self.unit else self.text


Cell = str | int | float | bool | None | tuple[float, ...]


@dataclass(slots=True)
class Excerpt:
    """The answer to a shape, up to its limit of lines. `lacking` names heads that the table could not answer. `more` says that lines were
    left out.

    `note` states the conditions of the measurement.
    """

    title: str
    about: str
    heads: list[ColumnHead]
    rows: list[tuple[Cell, ...]]
    lacking: list[str]
    more: bool = False
    note: str = ""
    plot: Plot | None = None


@dataclass(slots=True)
class Series:
    """Dots of one colour, one value per label of the plot, or None."""

    name: str
    values: list[float | None]


@dataclass(slots=True)
class Plot:
    """A plot with one horizontal line per label. `kind`: bars (one series), range (median, p90, p99 and perhaps a mark), dots (a series
    per colour). `values` of a range plot are the single values of each label that has few."""

    kind: str
    axis: str
    labels: list[str]
    series: list[Series]
    values: list[tuple[float, ...]] = field(default_factory=list)


@dataclass(slots=True)
class Shown:
    """A section with its answers, and its plots as SVG by the answer's index.

    `missing`: the lake lacks the table. `empty`: the table has no lines. `trouble`: the table cannot be read.
    """

    section: Section
    answers: list[Excerpt] = field(default_factory=list)
    plots: dict[int, str] = field(default_factory=dict)
    missing: bool = False
    empty: bool = False
    trouble: str | None = None

    def anchor(self, answer: int | None = None) -> str:
        """Return the id of the section on the page, or of one of its answers."""
        name = re.sub(r"\W+", "-", self.section.table)
        return name if answer is None else f"{name}-table-{answer}"
