"""Two lakes made of the same journals by two versions of the pipeline, compared table by table, line by line, column by column."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType
from pyspark.sql.window import Window

from groupmock_pipeline import schema, tables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

KEYS: Final = {
    "runs": ("file", "digest"),
    "rows": ("file", "line"),
    "quarantine": ("file", "line"),
    "rebalances": ("run", "group", "rebalance"),
    "heartbeats": ("run", "group", "library", "version"),
    "faults": ("run", "seq", "group"),
}
"""What one line of a table is about."""
OWN: Final = {"rows": schema.ROWS, "runs": schema.RUNS, "quarantine": schema.QUARANTINE}
SHOWN: Final = 6
WIDTH: Final = 160
NTH: Final = "nth_of_its_key"
ONLY_OLD, ONLY_NEW = "only old", "only new"


class Difference(NamedTuple):
    """Lines that differ in the same way: in which columns, or that only one side has them; some of them, as (key, old, new)."""

    table: str
    kind: str
    lines: int
    shown: list[tuple[str, str, str]]

    def __str__(self) -> str:
        head = f"{self.table}: {self.lines} lines: {self.kind}"
        return "\n".join([head, *(f"    {key}\n      old {old}\n      new {new}" for key, old, new in self.shown)])


def old_table(spark: SparkSession, lake: Path, name: str) -> DataFrame | None:
    """As the older version laid it: Parquet below a folder, by day and run. None: it has no such table, or no line of it."""
    if not any(each.endswith(".parquet") for _, _, files in os.walk(lake / name) for each in files):
        return None
    if name in OWN:
        return spark.read.schema(OWN[name]).parquet(str(lake / name)).select(*OWN[name].names)
    return spark.read.option("mergeSchema", "true").parquet(str(lake / name))


def new_table(spark: SparkSession, lake: Path, name: str) -> DataFrame | None:
    """As users read it."""
    return tables.read(spark, str(lake), name) if tables.exists(spark, str(lake), name) else None


def differences(spark: SparkSession, old: Path, new: Path) -> Iterator[Difference]:
    """All of all tables."""
    for name, keys in KEYS.items():
        one, other = old_table(spark, old, name), new_table(spark, new, name)
        if one is None or other is None:
            yield from _alone(name, one, other)
            continue
        columns = [each for each in one.columns if each in other.columns and each != schema.TAKE]
        for side, more in (("old", set(one.columns) - set(columns)), ("new", set(other.columns) - set(columns))):
            if more:
                yield Difference(name, f"columns that only the {side} has: {sorted(more)}", 0, [])
        yield from compared(name, one.select(*columns), other.select(*columns), keys)


def _alone(name: str, old: DataFrame | None, new: DataFrame | None) -> Iterator[Difference]:
    there = new if old is None else old
    if there is not None and (count := there.count()):
        yield Difference(name, ONLY_NEW if old is None else ONLY_OLD, count, [])


def compared(name: str, old: DataFrame, new: DataFrame, keys: Sequence[str]) -> Iterator[Difference]:
    """Lines with one key are taken in the order of what else they have; null is equal to null."""
    others = [column for column in old.columns if column not in keys]
    sides = [_plain(side, keys, others, prefix) for side, prefix in ((old, "old_"), (new, "new_"))]
    same = [sides[0][f"old_{key}"].eqNullSafe(sides[1][f"new_{key}"]) for key in (*keys, NTH)]
    both = sides[0].join(sides[1], same, "full")
    differing = [F.when(~F.col(f"old_{each}").eqNullSafe(F.col(f"new_{each}")), F.lit(each)) for each in others]
    kind = (
        F.when(F.col(f"new_{NTH}").isNull(), ONLY_OLD)
        .when(F.col(f"old_{NTH}").isNull(), ONLY_NEW)
        .otherwise(F.array_join(F.array_compact(F.array(*differing)), ", "))
    )
    found = both.withColumn("kind", kind).where("kind != ''").persist()
    for row in found.groupBy("kind").count().orderBy("kind").collect():
        lines = found.where(F.col("kind") == row["kind"]).limit(SHOWN).collect()
        yield Difference(name, row["kind"], row["count"], [_shown(line.asDict(), keys, others, row["kind"]) for line in lines])
    found.unpersist()


def _plain(table: DataFrame, keys: Sequence[str], others: Sequence[str], prefix: str) -> DataFrame:
    simple = table.select(*(_text(table, each).alias(each) for each in (*keys, *others)))
    order = Window.partitionBy(*keys).orderBy(F.xxhash64(*others) if others else F.lit(0))
    numbered = simple.withColumn(NTH, F.row_number().over(order))
    return numbered.select(*(F.col(each).alias(f"{prefix}{each}") for each in numbered.columns))


def _text(table: DataFrame, name: str) -> Column:
    """Lists, maps (by key: they have no order) and structs as JSON, so that all that differs can be shown."""
    kind, column = table.schema[name].dataType, F.col(name)
    if isinstance(kind, MapType):
        column = F.map_from_entries(F.array_sort(F.map_entries(column))).alias(name)
    if isinstance(kind, ArrayType | MapType | StructType):
        return F.when(F.col(name).isNotNull(), F.to_json(F.struct(column)))
    return column


def _shown(line: dict[str, Any], keys: Sequence[str], others: Sequence[str], kind: str) -> tuple[str, str, str]:
    columns = others if kind in (ONLY_OLD, ONLY_NEW) else kind.split(", ")
    key = ", ".join(str(line[f"old_{each}"] if kind != ONLY_NEW else line[f"new_{each}"]) for each in keys)

    def side(prefix: str) -> str:
        told = {each: line[f"{prefix}{each}"] for each in columns if line[f"{prefix}{each}"] is not None}
        return ", ".join(f"{each}={str(value)[:WIDTH]!r}" for each, value in told.items())

    return key, side("old_"), side("new_")
