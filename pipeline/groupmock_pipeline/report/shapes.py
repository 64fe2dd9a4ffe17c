"""How a part of the report is described: columns of a table -> a table on the page, and a plot where one helps.

Columns are Spark SQL expressions. One that the table cannot answer, because a column has another name or is not there yet, is left out
and the page says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GROUPS: Final = 40
"""Groups that a table has at most: of more, those that come first in its order."""
LINES: Final = 20
QUANTILES: Final = {"median": 0.5, "p90": 0.9, "p99": 0.99}
ACCURACY: Final = 1000
"""Of Spark's percentile_approx: a rank is off by at most a thousandth of the lines."""


@dataclass(frozen=True, slots=True)
class Value:
    """A column on the page. `sql`: over lines, or an aggregate of them, as the shape says; `other`: what is tried where the table lacks
    that. `unit`: s, ms, partitions; "": a bare number or a text.
    """

    head: str
    sql: str
    unit: str = ""
    other: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """A line per group: aggregates, most of the first one first. `bars`: the head of the value that is plotted."""

    title: str
    by: tuple[Value, ...]
    values: tuple[Value, ...]
    about: str = ""
    where: str = "true"
    bars: str = ""
    limit: int = GROUPS


@dataclass(frozen=True, slots=True)
class Spread:
    """A line per group: how many, median, 90th and 99th percentile, largest of one value; plotted. Groups with most lines first.

    `of`: what a line of the table is, in the plural. `mark`: at most one aggregate that the plot shows beside them, in the same unit.
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
    """The first lines of a table in an order."""

    title: str
    values: tuple[Value, ...]
    order: tuple[str, ...]
    about: str = ""
    where: str = "true"
    limit: int = LINES


@dataclass(frozen=True, slots=True)
class Grid:
    """A table per `per`: lines `down`, columns `across`, in each cell one value with another in brackets if that differs; plotted.

    `beside`: that other one, at most one. `titled`: how many of `per` are in the title; the others are in its note.
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
    """What is shown of one table; `none`: of one without a line."""

    table: str
    title: str
    about: str
    shapes: tuple[Shape, ...]
    none: str = "The table is there and has no line."


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """The head of a column; numbers stand on the right."""

    text: str
    unit: str = ""
    number: bool = False

    def __str__(self) -> str:
        return f"{self.text}, {self.unit}" if self.unit else self.text


Cell = str | int | float | bool | None


@dataclass(slots=True)
class Excerpt:
    """What a shape came to: at most its limit of lines. `lacking`: heads that the table could not answer. `more`: lines were left out.

    `note`: what it was measured with.
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
    """Dots of one colour: one value per label of the plot, or None."""

    name: str
    values: list[float | None]


@dataclass(slots=True)
class Plot:
    """Horizontal: a line per label. `kind`: bars (one series), range (median, p90, p99 and perhaps a mark), dots (a series per colour)."""

    kind: str
    axis: str
    labels: list[str]
    series: list[Series]
