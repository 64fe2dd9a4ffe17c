"""The lines of table `campaign`: what was played, and the result. The columns are the fields of the scenarios' own classes."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from pyspark.sql.types import DataType, DoubleType, StringType, StructField, StructType

from groupmock_clients.scenarios.catalogue import protocols, scenario
from groupmock_clients.scenarios.measure import Figures
from groupmock_clients.scenarios.play import Sizes
from groupmock_clients.scenarios.results import Job, ScenarioResult, run_one

from ..schema import spark_type
from .campaign_plan import STAGE
from .scenario_sizes import SIZES

if TYPE_CHECKING:
    import pyarrow as pa

LINES_PER_ARROW_BATCH: Final = 50
"""Lines that a worker collects before it passes them to Spark."""


def _column(name: str, hint: Any) -> StructField:
    kind: DataType = DoubleType() if hint is float else spark_type(hint)
    return StructField(name, kind)


FIGURES: Final = tuple(get_type_hints(Figures))
"""The measurements of a play: see groupmock_clients.scenarios.measure."""
WHAT: Final = ("product", "scenario", "protocol", "client", *SIZES)
"""The columns that identify a cell: a combination of scenario, protocol and sizes."""
_NO_COLUMNS: Final = {"scenario", "protocol", "client", "figures", "agreed", "picture"}
"""Fields of ScenarioResult that are columns already, are split into columns, or do not apply to a virtual play."""

PLAY: Final = StructType(
    [
        StructField("cell", StringType()),
        StructField("batch", StringType()),
        *(_column(name, str) for name in WHAT[:4]),
        *(_column(name, kind) for name, kind in SIZES.items()),
        _column("seed", int),
    ]
)
"""The columns of a play before it is played."""
OUTCOME: Final = StructType(
    [
        *(_column(name, hint) for name, hint in get_type_hints(Figures).items()),
        *(_column(name, hint) for name, hint in get_type_hints(ScenarioResult).items() if name not in _NO_COLUMNS),
    ]
)
"""The columns of table `campaign` with the result of a play. The figures are null if the play failed, and `trouble` says why. `broken`
lists violated invariants."""
RECORD: Final = StructType([*PLAY.fields, *OUTCOME.fields])
"""The schema of table `campaign`."""
STRETCH: Final = StructType(
    [
        *(field for field in PLAY.fields if field.name not in ("batch", "seed")),
        *(StructField(name, spark_type(int)) for name in ("first", "last", "offset")),
    ]
)


def play_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Play every line of `PLAY` and yield lines of `RECORD`. Runs in Spark's Python workers."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(RECORD)
    for batch in batches:
        for start in range(0, batch.num_rows, LINES_PER_ARROW_BATCH):
            plays = batch.slice(start, LINES_PER_ARROW_BATCH).to_pylist()
            yield pa.RecordBatch.from_pylist([{**each, **outcome(each)} for each in plays], schema=schema)


def outcome(play: Mapping[str, Any]) -> dict[str, Any]:
    """Play a line and return the columns of `OUTCOME`. An exception in a play becomes its `trouble`, so that the other plays go on."""
    try:
        result = run_one(job_of(play))
    except Exception as problem:
        return {"trouble": _error_text(problem), "broken": []}
    return {**(result.figures or {}), "trouble": result.trouble, "broken": result.broken}


def job_of(play: Mapping[str, Any]) -> Job:
    """Return the job of groupmock_clients.scenarios that plays the scenario of a line."""
    (protocol,) = protocols(STAGE, f"{play['protocol']}/{play['client']}")
    sizes = Sizes(seed=play["seed"], **{name: play[name] for name in SIZES})
    return Job(STAGE, scenario(play["scenario"]), protocol, sizes)


def _error_text(problem: Exception) -> str:
    """Format an exception with the module and line that raised it. The folder is left out, so that the text is the same on every
    machine."""
    places = traceback.extract_tb(problem.__traceback__)
    place = f" ({places[-1].filename.rpartition('/')[2]}:{places[-1].lineno})" if places else ""
    return f"error: {type(problem).__name__}: {problem}{place}"
