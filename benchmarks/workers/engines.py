"""Asks Spark and one DuckDB process the same question over the same Parquet files: `python engines.py LAKE JOURNALS`.

It prints lines of a name and seconds.

The question is the core of `rebalances`: every group's state changes in order, numbered by rebalance, with the time in each state. It is
asked twice, and the second time counts (both engines are warm). Both must give the same answer. DuckDB also reads the journals themselves,
as `ingest` does, but does not check for broken lines.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import duckdb

QUESTION: Final = """
WITH moved AS (SELECT run, {q}group{q} AS g, line, {q}at{q} AS ns, before, after, generation FROM rows WHERE kind = 'moved'),
numbered AS (
  SELECT *, lead(ns) OVER (PARTITION BY run, g ORDER BY line) - ns AS spent,
    sum(CASE WHEN after = 'PreparingRebalance' AND before <> 'CompletingRebalance' THEN 1 ELSE 0 END)
      OVER (PARTITION BY run, g ORDER BY line ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS rebalance
  FROM moved
),
cost AS (
  SELECT run, g, rebalance, max(generation) AS generation,
    sum(CASE WHEN after = 'PreparingRebalance' THEN spent ELSE 0 END) AS preparing_ns,
    sum(CASE WHEN after = 'CompletingRebalance' THEN spent ELSE 0 END) AS completing_ns
  FROM numbered GROUP BY run, g, rebalance
)
SELECT count(*) AS rebalances, sum(generation) AS generations, sum(preparing_ns) AS preparing, sum(completing_ns) AS completing FROM cost
"""
Answer = tuple[int, ...]


def asked_twice(ask: Callable[[], Any]) -> tuple[float, Answer]:
    """Ask an engine its question twice, and return the seconds of the second time and the answer."""
    ask()
    begun = time.monotonic()
    found = ask()
    return time.monotonic() - begun, tuple(int(value) for value in found)


def spark_query(lake: str) -> tuple[float, Answer, list[str]]:
    """Ask Spark the question in a session that is warm; also return the table's files, which the lake's log names."""
    from groupmock_pipeline import tables
    from groupmock_pipeline.lake.sink import PART
    from groupmock_pipeline.session import session

    spark = session("engines", None, {"spark.ui.showConsoleProgress": "false"})
    try:
        rows = tables.read(spark, lake, "rows")
        rows.createOrReplaceTempView("rows")
        files = [unquote(urlsplit(file).path) for file in rows.inputFiles() if f"/{PART}=rows/" in file]
        return *asked_twice(lambda: spark.sql(QUESTION.format(q="`")).first()), files
    finally:
        spark.stop()


def duckdb_query(files: list[str]) -> tuple[float, Answer]:
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW rows AS SELECT * FROM read_parquet({files!r}, hive_partitioning = true)")
    return asked_twice(lambda: connection.execute(QUESTION.format(q='"')).fetchone())


def duckdb_ingest(journals: str) -> float:
    """Return the seconds that DuckDB takes to convert JSON Lines to Parquet, a folder per file."""
    from groupmock_pipeline.schema import LINE

    names = {"bigint": "BIGINT", "string": "VARCHAR", "boolean": "BOOLEAN"}
    columns = ", ".join(f"'{field.name}': '{names.get(field.dataType.simpleString(), 'JSON')}'" for field in LINE.fields)
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-duckdb-") as folder:
        begun = time.monotonic()
        duckdb.execute(
            f"COPY (SELECT *, parse_filename(filename, true) AS run FROM read_json('{journals}/**/*.jsonl', format = 'newline_delimited', "
            f"columns = {{{columns}}}, filename = true, ignore_errors = true)) TO '{folder}' (FORMAT parquet, PARTITION_BY (run), "
            "OVERWRITE_OR_IGNORE)"
        )
        return time.monotonic() - begun


def main(lake: str, journals: str) -> None:
    spark, answer, files = spark_query(lake)
    duck, same = duckdb_query(files)
    if answer != same:
        raise SystemExit(f"Spark says {answer}, DuckDB {same}")
    print("spark_query", spark)
    print("duckdb_query", duck)
    print("duckdb_ingest", duckdb_ingest(journals))


main(*sys.argv[1:])
