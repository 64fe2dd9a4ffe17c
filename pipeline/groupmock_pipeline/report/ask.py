"""Shapes answered by Spark. Only what a page shows reaches the driver: groups and lines up to a shape's limit, made by the executors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from groupmock.printable import one_line

from ..asking import analysed
from .shapes import ACCURACY, QUANTILES, Cell, ColumnHead, Excerpt, Grid, Listing, Plot, Series, Shape, Spread, Totals, Value

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PLOTTED: Final = 16
"""Groups that a plot has at most."""
LONGEST: Final = 300
"""Characters of a text that a page shows."""


def answer(table: DataFrame, shape: Shape) -> list[Excerpt]:
    """What a shape has to say of a table; [] where the table cannot answer it at all."""
    match shape:
        case Totals():
            return _totals(table, shape)
        case Spread():
            return _spread(table, shape)
        case Listing():
            return _listing(table, shape)
        case Grid():
            return _grid(table, shape)


class AnswerableValues:
    """Which of the values a table can answer."""

    def __init__(self, table: DataFrame) -> None:
        self.table = table
        self.lacking: list[str] = []

    def of(self, values: Iterable[Value]) -> list[Value]:
        """Those that it can; the others are noted."""
        found = []
        for each in values:
            sql = next(filter(self.has, (each.sql, *each.other)), None)
            if sql is None:
                self.lacking.append(each.head)
            else:
                found.append(replace(each, sql=sql))
        return found

    def has(self, sql: str) -> bool:
        """Nothing is computed: Spark analyses the expression."""
        return analysed(lambda: self.table.select(F.expr(sql))) is not None


def _kept(table: DataFrame, where: str) -> DataFrame | None:
    """None: the condition is about columns that are not there."""
    return analysed(lambda: table.where(where))


def _named(values: Sequence[Value], prefix: str) -> list[Column]:
    return [F.expr(each.sql).alias(f"{prefix}{place}") for place, each in enumerate(values)]


def _totals(table: DataFrame, shape: Totals) -> list[Excerpt]:
    known = AnswerableValues(table)
    by, values, kept = known.of(shape.by), known.of(shape.values), _kept(table, shape.where)
    if not values or kept is None or (shape.by and not by):
        return []
    groups = [f"by{place}" for place in range(len(by))]
    summed = kept.select("*", *_named(by, "by")).groupBy(*groups).agg(*_named(values, "value"))
    ordered = summed.orderBy(F.col("value0").desc_nulls_last(), *groups).limit(shape.limit + 1)
    made = _answer(shape.title, shape.about, [*by, *values], ordered, known.lacking, shape.limit)
    place = next((len(by) + place for place, each in enumerate(values) if each.head == shape.bars), None)
    if place is not None and made.rows:
        made.plot = _plot("bars", str(made.heads[place]), made, len(by), {shape.bars: place})
    return [made]


def _spread(table: DataFrame, shape: Spread) -> list[Excerpt]:
    known = AnswerableValues(table)
    by, value, kept = known.of(shape.by), known.of([shape.value]), _kept(table, shape.where)
    marks = known.of([shape.mark]) if shape.mark is not None else []
    if not value or kept is None or (shape.by and not by):
        return []
    groups = [f"by{place}" for place in range(len(by))]
    shares = F.array(*map(F.lit, QUANTILES.values()))
    values = kept.select("*", *_named(by, "by"), F.expr(value[0].sql).cast("double").alias("it")).where("it is not null")
    quantiles = F.percentile_approx("it", shares, F.lit(ACCURACY)).alias("q")
    found = values.groupBy(*groups).agg(F.count("*").alias("n"), quantiles, F.max("it").alias("largest"), *_named(marks, "mark"))
    columns = [F.col("n"), *(F.col("q")[place].alias(name) for place, name in enumerate(QUANTILES)), F.col("largest")]
    beside = [f"mark{place}" for place in range(len(marks))]
    told = found.orderBy(F.col("n").desc(), *groups).limit(shape.limit + 1).select(*groups, *columns, *beside)
    unit = shape.value.unit
    spread = [Value(shape.of, ""), *(Value(name, "", unit) for name in QUANTILES), Value("largest", "", unit)]
    made = _answer(shape.title, shape.about, [*by, *spread, *marks], told, known.lacking, shape.limit)
    if made.rows:
        places = {name: len(by) + 1 + place for place, name in enumerate(QUANTILES)}
        places |= {mark.head: len(by) + len(spread) + place for place, mark in enumerate(marks)}
        made.plot = _plot("range", str(ColumnHead(shape.value.head, unit)), made, len(by), places)
    return [made]


def _listing(table: DataFrame, shape: Listing) -> list[Excerpt]:
    known = AnswerableValues(table)
    values, kept = known.of(shape.values), _kept(table, shape.where)
    if not values or kept is None:
        return []
    order = [F.expr(each).desc_nulls_last() for each in shape.order if known.has(each)]
    ordered = kept.orderBy(*order) if order else kept
    told = ordered.select(*_named(values, "value")).limit(shape.limit + 1)
    return [_answer(shape.title, shape.about, values, told, known.lacking, shape.limit)]


def first_lines(table: DataFrame, limit: int = 5) -> Excerpt:
    """For a table that no shape fits: what is in it."""
    values = [Value(name, f"`{name}`") for name in table.columns]
    return _answer("First lines", "", values, table.select(*_named(values, "value")).limit(limit), [], limit)


def _grid(table: DataFrame, shape: Grid) -> list[Excerpt]:
    known = AnswerableValues(table)
    per, kept, main = known.of(shape.per), _kept(table, shape.where), known.of([shape.down, shape.across, shape.value])
    if kept is None or len(main) < 3:
        return []
    values = [*per, *main, *known.of([shape.beside])]
    cells = kept.select(*_named(values, "value"))
    lines = [tuple(map(_cell, row)) for row in cells.orderBy(*cells.columns).limit(shape.limit).collect()]  # a line per combination
    groups: dict[tuple[Cell, ...], list[tuple[Cell, ...]]] = {}
    for line in lines:
        groups.setdefault(line[: len(per)], []).append(line[len(per) :])
    return [_grid_of(shape, per, key, group, known.lacking) for key, group in groups.items()]


def _grid_of(shape: Grid, per: Sequence[Value], key: tuple[Cell, ...], lines: list[tuple[Cell, ...]], lacking: list[str]) -> Excerpt:
    down = list(dict.fromkeys(line[0] for line in lines))
    across = list(dict.fromkeys(line[1] for line in lines))
    cells = {(line[0], line[1]): line[2:] for line in lines}
    named = list(zip(per, key, strict=True))
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


def _answer(title: str, about: str, values: Sequence[Value], told: DataFrame, lacking: list[str], limit: int) -> Excerpt:
    rows = [tuple(map(_cell, row)) for row in told.collect()]  # at most limit + 1 lines
    numbers = [_is_number(field.dataType.typeName()) for field in told.schema.fields]
    heads = [ColumnHead(each.head, each.unit, number) for each, number in zip(values, numbers, strict=True)]
    return Excerpt(title, about, heads, rows[:limit], list(lacking), more=len(rows) > limit)


def _is_number(type_name: str) -> bool:
    return type_name in ("byte", "short", "integer", "long", "float", "double") or type_name.startswith("decimal")


def _cell(value: Any) -> Cell:
    """What a page can show: a number, a truth, nothing, or a text that is not too long."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list | tuple | set):
        value = ", ".join(shown(_cell(each)) for each in value)
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def shown(value: Cell) -> str:
    """As a page has it: 1 234 567, 12.3, yes, –."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}".replace(",", "\u202f")
    if isinstance(value, float):
        return f"{value:,.1f}".replace(",", "\u202f") if abs(value) >= 100 else f"{value:.3g}"
    return one_line(value)


def _number(value: Cell) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _plot(kind: str, axis: str, made: Excerpt, by: int, places: dict[str, int]) -> Plot:
    """The first PLOTTED groups of an answer."""
    rows = made.rows[:PLOTTED]
    labels = [" · ".join(shown(value) for value in row[:by] if value is not None) or "–" for row in rows]
    return Plot(kind, axis, labels, [Series(name, [_number(row[place]) for row in rows]) for name, place in places.items()])
