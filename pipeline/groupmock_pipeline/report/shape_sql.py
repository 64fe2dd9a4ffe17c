"""Combine several tables and plots of the report into one SQL query, because Spark takes longer to plan and schedule a query than to
answer it on such tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .shapes import ACCURACY, FEW, QUANTILES, Grid, Listing, Shape, Spread, Totals, Value


def query(shapes: Sequence[Shape]) -> str:
    """Return SQL over a table `{lines}` with one column per shape: a struct in the lines of that shape, null in the lines of others.

    A part with a limit is one partition, and a union keeps the partitions of its parts in order. So each shape's lines come in order.
    """
    parts = []
    for place, shape in enumerate(shapes):
        cells, lines = _cells_and_lines(shape)
        columns = [f"struct({cells})" if place == own else "null" for own in range(len(shapes))]
        parts.append(f"select {', '.join(columns)} from ({lines})")
    return " union all ".join(parts)


def _cells_and_lines(shape: Shape) -> tuple[str, str]:
    """Return the cells of a line, and the lines: one more than the limit, to notice that there are more."""
    match shape:
        case Totals():
            return _totals(shape)
        case Spread():
            return _spread(shape)
        case Listing():
            order = [f"{each} desc nulls last" for each in shape.order]
            return _list(each.sql for each in shape.values), _first(f"select * from {{lines}} where {shape.where}", order, shape.limit + 1)
        case Grid():
            values = [*shape.per, shape.down, shape.across, shape.value, *shape.beside]
            names = _names(values, "value")
            return _list(names), _first(f"select {_list(_named(values, 'value'))} from {{lines}} where {shape.where}", names, shape.limit)


def _totals(shape: Totals) -> tuple[str, str]:
    by, values = _names(shape.by, "by"), _names(shape.values, "value")
    lines = f"select {_list(['*', *_named(shape.by, 'by')])} from {{lines}} where {shape.where}"
    grouped = _grouped(lines, by, _named(shape.values, "value"))
    return _list([*by, *values]), _first(grouped, ["value0 desc nulls last", *by], shape.limit + 1)


def _spread(shape: Spread) -> tuple[str, str]:
    by, marks = _names(shape.by, "by"), _names(shape.mark, "mark")
    value = f"cast({shape.value.sql} as double) as it"
    lines = f"select {_list(['*', *_named(shape.by, 'by'), value])} from {{lines}} where {shape.where}"
    quantiles = f"percentile_approx(it, array({_list(map(str, QUANTILES.values()))}), {ACCURACY}) as q"
    # A histogram of up to FEW bins has each of fewer values in a bin of its own.
    bins = f"histogram_numeric(it, {FEW}) as bins"
    figures = ["count(*) as n", quantiles, "max(it) as largest", bins, *_named(shape.mark, "mark")]
    grouped = _grouped(f"select * from ({lines}) where it is not null", by, figures)
    median, *others = (f"q[{place}]" for place in range(len(QUANTILES)))
    few = f"if(n < {FEW}, transform(bins, bin -> bin.x), null)"
    cells = [*by, "n", median, *(f"if(n < {FEW}, null, {each})" for each in others), "largest", *marks, few]
    return _list(cells), _first(grouped, ["n desc", *by], shape.limit + 1)


def _grouped(lines: str, by: Sequence[str], figures: Sequence[str]) -> str:
    return f"select {_list([*by, *figures])} from ({lines})" + (f" group by {_list(by)}" if by else "")


def _first(lines: str, order: Sequence[str], limit: int) -> str:
    return lines + (f" order by {_list(order)}" if order else "") + f" limit {limit}"


def _names(values: Sequence[Value], prefix: str) -> list[str]:
    return [f"{prefix}{place}" for place in range(len(values))]


def _named(values: Sequence[Value], prefix: str) -> list[str]:
    return [f"{each.sql} as {prefix}{place}" for place, each in enumerate(values)]


def _list(parts: Iterable[str]) -> str:
    return ", ".join(parts)
