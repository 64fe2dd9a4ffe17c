"""Compute the shapes of a report (its tables and plots) by Spark. Only what the page shows reaches the driver: groups and lines up to a
shape's limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql import functions as F

from groupmock.text.printable import one_line

from ..analysis_probe import analysed
from .shape_sql import query
from .shapes import FEW, QUANTILES, Cell, ColumnHead, Excerpt, Grid, Listing, Plot, Series, Shape, Spread, Totals, Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

PLOTTED: Final = 16
"""The greatest number of groups in a plot."""
LONGEST: Final = 300
"""The greatest length of a text on the page."""


@dataclass(frozen=True, slots=True)
class Question:
    """A shape of the report that the table can answer. `lacking` names the heads that were dropped because the table lacks their
    columns."""

    shape: Shape
    lacking: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines with which Spark answered a shape. `numbers` says which columns are numeric."""

    numbers: list[bool]
    rows: list[tuple[Cell, ...]]


def answers(table: DataFrame, shapes: Sequence[Shape]) -> list[Excerpt]:
    """Compute the parts of a report (tables and plots) from a table of the lake. A shape that the table cannot answer at all is left
    out."""
    asked = [Question(each) for each in shapes]
    told = analysed(lambda: _together(table, asked))
    if told is None:  # One query over all values fails if a column is missing, so each value is then checked by itself.
        asked = [each for shape in shapes if (each := _answerable(table, shape)) is not None]
        if not asked:
            return []
        told = _together(table, asked)
    return [excerpt for each, lines in zip(asked, _answered(told), strict=True) for excerpt in _excerpts(each, lines)]


def _together(table: DataFrame, asked: Sequence[Question]) -> DataFrame:
    return table.sparkSession.sql(query([each.shape for each in asked]), lines=table)


def _answered(told: DataFrame) -> list[Lines]:
    found = [_lines(cast("StructType", column.dataType)) for column in told.schema]
    for row in told.collect():  # Each kind of query returns at most one line more than its limit.
        place, line = next((place, line) for place, line in enumerate(row) if line is not None)
        found[place].rows.append(tuple(map(_cell, line)))
    return found


def _lines(columns: StructType) -> Lines:
    return Lines([_is_number(each.dataType.typeName()) for each in columns], [])


def first_lines(table: DataFrame, limit: int = 5) -> Excerpt:
    """Show the first lines of a table for which the report has no part."""
    lines = _lines(table.schema)
    lines.rows.extend(tuple(map(_cell, row)) for row in table.limit(limit).collect())
    return _excerpt("First lines", "", [Value(name, "") for name in table.columns], lines, [], limit)


class AnswerableValues:
    """Decides which values of a report a table can answer, depending on its columns."""

    def __init__(self, table: DataFrame) -> None:
        self.table = table
        self.lacking: list[str] = []

    def of(self, values: Iterable[Value]) -> tuple[Value, ...]:
        """Return those of the values that the table can answer, and note the others."""
        found = []
        for each in values:
            sql = next(filter(self.has, (each.sql, *each.other)), None)
            if sql is None:
                self.lacking.append(each.head)
            else:
                found.append(replace(each, sql=sql))
        return tuple(found)

    def has(self, sql: str) -> bool:
        """Tell whether the table can answer an expression, which Spark analyses without computing anything."""
        return analysed(lambda: self.table.select(F.expr(sql))) is not None

    def has_where(self, condition: str) -> bool:
        """Tell whether the table can answer a condition, which Spark analyses without computing anything."""
        return analysed(lambda: self.table.where(condition)) is not None


def _answerable(table: DataFrame, shape: Shape) -> Question | None:
    known = AnswerableValues(table)
    left = _left(known, shape) if known.has_where(shape.where) else None
    return None if left is None else Question(left, known.lacking)


def _left(known: AnswerableValues, shape: Shape) -> Shape | None:
    """Return the shape without the columns that the table lacks, or None if too little is left."""
    match shape:
        case Totals():
            by, values = known.of(shape.by), known.of(shape.values)
            return replace(shape, by=by, values=values) if values and (by or not shape.by) else None
        case Spread():
            by, value, mark = known.of(shape.by), known.of([shape.value]), known.of(shape.mark)
            return replace(shape, by=by, value=value[0], mark=mark) if value and (by or not shape.by) else None
        case Listing():
            values = known.of(shape.values)
            return replace(shape, values=values, order=tuple(filter(known.has, shape.order))) if values else None
        case Grid():
            per, main, beside = known.of(shape.per), known.of([shape.down, shape.across, shape.value]), known.of(shape.beside)
            if len(main) < 3:
                return None
            return replace(shape, per=per, down=main[0], across=main[1], value=main[2], beside=beside)


def _excerpts(asked: Question, lines: Lines) -> list[Excerpt]:
    shape = asked.shape
    match shape:
        case Totals():
            return [_totals(shape, lines, asked.lacking)]
        case Spread():
            return [_spread(shape, lines, asked.lacking)]
        case Listing():
            return [_excerpt(shape.title, shape.about, shape.values, lines, asked.lacking, shape.limit)]
        case Grid():
            return _grid(shape, lines, asked.lacking)


def _totals(shape: Totals, lines: Lines, lacking: list[str]) -> Excerpt:
    by = len(shape.by)
    made = _excerpt(shape.title, shape.about, [*shape.by, *shape.values], lines, lacking, shape.limit)
    place = next((by + place for place, each in enumerate(shape.values) if each.head == shape.bars), None)
    if place is not None and made.rows:
        made.plot = _plot("bars", str(made.heads[place]), made, by, {shape.bars: place})
    return made


def _spread(shape: Spread, lines: Lines, lacking: list[str]) -> Excerpt:
    unit, by = shape.value.unit, len(shape.by)
    values = [row[-1] if isinstance(row[-1], tuple) else () for row in lines.rows]
    lines = Lines(lines.numbers[:-1], [row[:-1] for row in lines.rows])
    spread = [Value(shape.of, ""), *(Value(name, "", unit) for name in QUANTILES), Value("largest", "", unit)]
    made = _excerpt(shape.title, shape.about, [*shape.by, *spread, *shape.mark], lines, lacking, shape.limit)
    if made.rows:
        places = {name: by + 1 + place for place, name in enumerate(QUANTILES)}
        places |= {mark.head: by + len(spread) + place for place, mark in enumerate(shape.mark)}
        made.plot = _plot("range", str(ColumnHead(shape.value.head, unit)), made, by, places)
        made.plot.values = values[: len(made.plot.labels)]
        for series in made.plot.series[: len(QUANTILES)]:
            series.values = [None if few else value for value, few in zip(series.values, made.plot.values, strict=True)]
    if any(values):
        made.note = f"A group of fewer than {FEW} values has no p90 and p99. The plot has a dot for each of its values."
    return made


def _grid(shape: Grid, lines: Lines, lacking: list[str]) -> list[Excerpt]:
    per = len(shape.per)
    groups: dict[tuple[Cell, ...], list[tuple[Cell, ...]]] = {}
    for line in lines.rows:  # Each line of the result has another combination of values, so no cell of the table is filled twice.
        groups.setdefault(line[:per], []).append(line[per:])
    return [_grid_of(shape, key, group, lacking) for key, group in groups.items()]


def _grid_of(shape: Grid, key: tuple[Cell, ...], lines: list[tuple[Cell, ...]], lacking: list[str]) -> Excerpt:
    down = list(dict.fromkeys(line[0] for line in lines))
    across = list(dict.fromkeys(line[1] for line in lines))
    cells = {(line[0], line[1]): line[2:] for line in lines}
    named = list(zip(shape.per, key, strict=True))
    title = ", ".join([shape.title, *(f"{shown(value)} {each.head}" for each, value in named[: shape.titled])])
    rest = ", ".join(f"{each.head} {shown(value)}" for each, value in named[shape.titled :])
    rows: list[tuple[Cell, ...]] = [(name, *(_beside(cells.get((name, column))) for column in across)) for name in down]
    heads = [ColumnHead(shape.down.head), *(ColumnHead(shown(column), number=True) for column in across)]
    series = [Series(shown(column), [_number(cells.get((name, column), (None,))[0]) for name in down]) for column in across]
    plot = Plot("dots", str(ColumnHead(shape.value.head, shape.value.unit)), [shown(each) for each in down], series)
    return Excerpt(title, shape.about, heads, rows, list(lacking), note=f"With {rest}." if rest else "", plot=plot)


def _beside(values: tuple[Cell, ...] | None) -> Cell:
    if values is None:
        return "–"
    first, *others = map(shown, values)
    return f"{first} ({others[0]})" if others and others[0] != first and values[0] is not None else values[0]


def _excerpt(title: str, about: str, values: Sequence[Value], lines: Lines, lacking: list[str], limit: int) -> Excerpt:
    heads = [ColumnHead(each.head, each.unit, number) for each, number in zip(values, lines.numbers, strict=True)]
    return Excerpt(title, about, heads, lines.rows[:limit], list(lacking), more=len(lines.rows) > limit)


def _is_number(type_name: str) -> bool:
    return type_name in ("byte", "short", "integer", "long", "float", "double") or type_name.startswith("decimal")


def _cell(value: Any) -> Cell:
    """Convert a value to what a page can show: a number, a truth value, None, numbers, or a text of limited length."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list) and value and all(isinstance(each, float) for each in value):
        return tuple(value)
    if isinstance(value, list | tuple | set):
        value = ", ".join(shown(_cell(each)) for each in value)
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def shown(value: Cell) -> str:
    """Format a value for the page: 1 234 567, 12.3, yes, –."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}".replace(",", "\u202f")
    if isinstance(value, float):
        return f"{value:,.1f}".replace(",", "\u202f") if abs(value) >= 100 else f"{value:.3g}"
    return ", ".join(map(shown, value)) if isinstance(value, tuple) else one_line(value)


def _number(value: Cell) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _plot(kind: str, axis: str, made: Excerpt, by: int, places: dict[str, int]) -> Plot:
    """Make a plot of the first PLOTTED groups of an answer."""
    rows = made.rows[:PLOTTED]
    labels = [" · ".join(shown(value) for value in row[:by] if value is not None) or "–" for row in rows]
    return Plot(kind, axis, labels, [Series(name, [_number(row[place]) for row in rows]) for name, place in places.items()])
