"""Spark's settings: what figures depend on, and what suits where Spark runs and how much there is to read.

Nothing here asks anything: a machine is handed in. What it is for was measured (docs/how-to/pipeline.md, "The first row").
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

NEEDED: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # a run called 007 stays one
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.maxConcurrentOutputFileWriters": "64",  # else each task sorts what it writes by day
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",  # it is not, where a table's first writer was killed early
}
"""What the jobs count on, wherever Spark runs: any session can be told."""
STARTED: Final = {
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",  # progress.py tells it, on every kind of session alike
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # else each Column walks Python's stack for a place in our code to blame
}
"""Of a Spark that we start."""
MUCH: Final = 150_000_000
"""Bytes of JSON from which on compiling pays."""
LITTLE: Final = {
    "spark.ui.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.icu.caseMappings.enabled": "false",  # the first lower() would load tables of all scripts: a second and a half
    "spark.sql.ui.explainMode": "simple",  # each plan is written down for a UI that is not there
    "spark.buffer.pageSize": "2m",  # of a sort, which takes one before its first row: 64 MB, by Spark's rule
    "spark.sql.subexpressionElimination.enabled": "false",  # without codegen each shared expression costs a look into a cache per row
}
"""Compiling Java for each stage, and planning again after each, cost more than they bring."""
QUICK_JAVA: Final = (
    "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m",
    "-XX:Tier3InvocationThreshold=100", "-XX:Tier3MinInvocationThreshold=50", "-XX:Tier3CompileThreshold=1000",
    "-XX:Tier3BackEdgeThreshold=20000", "-XX:MetaspaceSize=256m", "-XX:NewRatio=1",
)  # fmt: skip
"""The quick compiler alone, and at half of its thresholds; with it Java would keep 48 MB for code, which a long session fills, and then
Spark ends itself. Memory from the start, else the first seconds are spent collecting what is no garbage yet."""
COMPILING: Final = {
    "spark.sql.codegen.hugeMethodLimit": "8000",  # bytes: Java never compiles a longer method, and to interpret it takes thrice as long
}
"""Where compiling pays."""
THOROUGH_JAVA: Final = (
    "-XX:Tier4InvocationThreshold=20000", "-XX:Tier4MinInvocationThreshold=5000", "-XX:Tier4CompileThreshold=40000",
    "-XX:Tier4BackEdgeThreshold=100000",
)  # fmt: skip
"""Both compilers, the slow one later than it would come: at a fourth of the calls it has a fourth of the time of all cores for a minute,
much of that for what plans and writes code, and works no more after it."""
PARALLEL: Final = "-XX:+UseParallelGC"
"""Nobody waits for an answer within milliseconds, and with Java's own choice (G1) each write of a reference costs more, and more memory is
held. With one thread (Serial) all wait for it: a second and a half of a small job's half minute."""
COMPILED: Final = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.codegen.maxFields": "200",  # a line has more than the 100 up to which Spark would
    **COMPILING,
    "spark.sql.subexpressionElimination.enabled": "false",  # it makes methods that Java finds too long to compile
    "spark.sql.codegen.wholeStage.union.enabled": "false",  # Spark 4.3: it takes each row apart once more, to unite it with the mark
}
"""Of one query that does much with every line (compiling.py), in any session."""
COLLECTOR: Final = re.compile(r"-XX:\+Use\w+GC\b")
"""Java does not start with two of them."""
PARTITIONS_PER_CORE: Final = 4
"""Of a shuffle, where there is much: 200, Spark's default, suit a cluster."""
LOCAL: Final = re.compile(r"local(?:\[(\*|\d+)(?:,\s*(?:\*|\d+))?\])?")
GIB: Final = 1 << 30
CGROUP: Final = Path("/sys/fs/cgroup/memory.max")
"""What a container may take; `max`: all there is."""


class Machine(NamedTuple):
    """Cores, and bytes of memory."""

    cores: int
    memory: int


def this_machine() -> Machine:
    """The one, or the container, that this process runs in."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = CGROUP.read_text().strip() if CGROUP.exists() else "max"
    return Machine(os.cpu_count() or 1, min(memory, int(limit)) if limit.isdigit() else memory)


def cores(master: str, machine: Machine) -> int | None:
    """That Spark runs on; None: it is not in this process."""
    found = LOCAL.fullmatch(master)
    if found is None:
        return None
    return machine.cores if found[1] == "*" else int(found[1] or 1)


def suiting(master: str | None, size: int | None, machine: Machine, archive: Sequence[str] = (), told: str = "") -> dict[str, str]:
    """Of a Spark that starts there to read `size` bytes (None: unknown, hence much). `archive`: options for Java; `told`: those that it
    gets besides, a collector among which stays. A cluster has settings of its own."""
    count = None if master is None else cores(master, machine)
    if count is None:
        return dict(STARTED)
    little = size is not None and size < MUCH
    heap = _heap(1 if little else count, machine)
    collector = () if COLLECTOR.search(told) else (PARALLEL,)
    java = [*collector, *((*QUICK_JAVA, _initially(heap // 2, machine)) if little else THOROUGH_JAVA), *archive]
    return {
        **STARTED,
        **(LITTLE if little else COMPILING),
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.driver.memory": f"{heap}m",
        "spark.sql.shuffle.partitions": str(count if little else PARTITIONS_PER_CORE * count),
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(PARTITIONS_PER_CORE * count),  # else a task for each journal
    }


def _heap(count: int, machine: Machine) -> int:
    """MiB: 4 GiB, or one for each core where that is more; half of the memory at most: Python workers take from the other half."""
    return min(max(4, count) * GIB, machine.memory // 2) >> 20


def _initially(heap: int, machine: Machine) -> str:
    """MiB that Java takes at once; less, where it was told to take less at all (-Xms, it would not start with)."""
    return f"-XX:InitialRAMPercentage={100 * (heap << 20) / machine.memory:.3f}"
