"""Make tables `simulation` and `simulated`: play seeds of the simulation in child processes with limits, and sum up the findings by
kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DoubleType, LongType, StringType, StructField, StructType

from groupmock_clients.simulation.limited import DIED, HUNG, SeedVerdict, within_limits

from .campaign_plan import DRAWN, SimulationStretch
from .sweep import seeded

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PLAY: Final = StructType(
    [
        *(StructField(name, StringType()) for name in ("cell", "batch", "product", "kind")),
        StructField("seconds", DoubleType()),
        StructField("megabytes", LongType()),
        StructField("seed", LongType()),
    ]
)
"""The columns of table `simulation` before a seed is played."""
OUTCOME: Final = StructType(
    [
        StructField("drawn", StringType()),
        StructField("judge", StringType()),
        StructField("finding", StringType()),
        StructField("step", LongType()),
        StructField("digest", StringType()),
        StructField("rows", LongType()),
        StructField("requests", LongType()),
        StructField("virtual_ms", DoubleType()),
        StructField("replayed", BooleanType()),
        StructField("plan", StringType()),
        StructField("story", ArrayType(StringType())),
    ]
)
"""The columns of table `simulation` with the result of a seed. `judge` is null if the simulation found nothing."""
RECORD: Final = StructType([*PLAY.fields, *OUTCOME.fields])
"""The schema of table `simulation`."""
ABOUT: Final = {
    "cell": "kind and a digest of the product; partition of the table",
    "batch": "first seed of its batch; partition of the table",
    "product": "who was tried, with its version",
    "kind": "what the run is mostly about; drawn: each seed draws that too",
    "seconds": "what the seed might take, of wall time",
    "megabytes": "... of memory, beyond what its process began with",
    "seed": "what everything was drawn from",
    "drawn": "the kind that was played",
    "judge": "who found fault (docs/proof/simulation.md), `hung`, `died`; null: all held",
    "finding": "what is wrong, in a sentence",
    "step": "place in the plan's steps at which it was seen",
    "digest": "of the journal's bytes: the same for the same seed and product, on every machine",
    "rows": "of the journal",
    "requests": "that were handled",
    "virtual_ms": "how long the run lasted on its own clock",
    "replayed": "was the journal played again, row for row?",
    "plan": "of a run with a finding, as JSON: `case` of a file below tests/found",
    "story": "of a run with a finding: its last rows, as sentences",
}
"""Describes the columns that are not documented elsewhere."""
STRETCH: Final = StructType(
    [
        *(field for field in PLAY.fields if field.name not in ("batch", "seed")),
        *(StructField(name, LongType()) for name in ("first", "last", "offset")),
    ]
)
COUNTED: Final = ("kind", "findings", "seeds", HUNG, DIED)
"""The columns that table `simulated` reports for each kind of simulation."""
LINES_PER_ARROW_BATCH: Final = 50


def seeds(spark: SparkSession, wanted: Sequence[SimulationStretch], batch: int) -> DataFrame:
    """Return one line per seed, with the columns of PLAY except `batch`, and the ordinal of its batch."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    return seeded(spark, pa.Table.from_pylist([_line(each) for each in wanted], schema=to_arrow_schema(STRETCH)), batch)


def _line(stretch: SimulationStretch) -> dict[str, Any]:
    cell = stretch.cell
    what = {"cell": cell.key, "product": cell.product, "kind": cell.kind, "seconds": cell.seconds, "megabytes": cell.megabytes}
    return {**what, "first": stretch.first, "last": stretch.last, "offset": stretch.offset}


def simulate_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Play every line of `PLAY` and yield lines of `RECORD`. Runs in Spark's Python workers."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(RECORD)
    for batch in batches:
        for start in range(0, batch.num_rows, LINES_PER_ARROW_BATCH):
            lines = batch.slice(start, LINES_PER_ARROW_BATCH).to_pylist()
            yield pa.RecordBatch.from_pylist(list(simulated_lines(lines)), schema=schema)


def simulated_lines(lines: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Play the seed of each line in order. Lines of the same kind and limits share a child process until a seed hangs or kills the
    process."""
    for (kind, seconds, megabytes), alike in groupby(lines, key=lambda each: (each["kind"], each["seconds"], each["megabytes"])):
        mine = list(alike)
        verdicts = within_limits([each["seed"] for each in mine], None if kind == DRAWN else kind, seconds, megabytes)
        yield from ({**each, **_outcome(verdict)} for each, verdict in zip(mine, verdicts, strict=True))


def _outcome(verdict: SeedVerdict) -> dict[str, Any]:
    return {
        "drawn": verdict.kind or None,
        "judge": verdict.judge,
        "finding": verdict.text,
        "step": verdict.step,
        "digest": verdict.digest or None,
        "rows": verdict.rows,
        "requests": verdict.requests,
        "virtual_ms": verdict.virtual_ms,
        "replayed": verdict.replayed,
        "plan": None if verdict.plan is None else msgspec.json.encode(verdict.plan).decode(),
        "story": verdict.story,
    }


def summed_up(simulation: DataFrame) -> DataFrame:
    """Make table `simulated` with one line per product and kind with its seeds, findings and the amount of work done."""
    return simulation.groupBy("product", "kind").agg(
        F.count("*").alias("seeds"),
        F.count("judge").alias("findings"),
        F.count_if(F.col("judge") == HUNG).alias(HUNG),
        F.count_if(F.col("judge") == DIED).alias(DIED),
        F.count_if("replayed").alias("replayed"),
        F.sum("rows").alias("rows"),
        F.sum("requests").alias("requests"),
        F.sum("virtual_ms").alias("virtual_ms"),
        F.min("seed").alias("first_seed"),
        F.max("seed").alias("last_seed"),
        F.min(F.when(F.col("judge").isNotNull(), F.col("seed"))).alias("first_finding"),
    )
