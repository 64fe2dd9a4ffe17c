"""The settings of Spark: those that results depend on, and those that suit the machine and the amount of input.

The functions are pure and get a description of the machine. The reasons were measured (docs/how-to/pipeline.md, "The first row").
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
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # Partition values stay texts, because a run may be called 007.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.maxConcurrentOutputFileWriters": "64",  # With fewer open writers each task would sort its output by day.
    # The checkpoint's folder may contain files if a table's first writer was killed early.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}
"""The settings that the jobs need. They can be set on any session."""
STARTED: Final = {
    "spark.log.level": "ERROR",
    # Spark's own progress bar is off, because progress.py shows the progress in every kind of session.
    "spark.ui.showConsoleProgress": "false",
    # With this debugging each Column searches Python's stack for a line of the caller's code.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""The settings of a Spark that this process starts."""
MUCH: Final = 150_000_000
"""Bytes of JSON from which compilation pays."""
LITTLE: Final = {
    "spark.ui.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # With these mappings the first lower() would load tables of all scripts, which takes 1.5 s.
    "spark.sql.icu.caseMappings.enabled": "false",
    "spark.sql.ui.explainMode": "simple",  # Any mode but `simple` would format each query plan at length for the UI, which is off.
    "spark.buffer.pageSize": "2m",  # The pages are small, because a sort allocates one before its first row, by default 64 MB.
    # The elimination of common subexpressions is off, because without generated code each of them costs a cache lookup per row.
    "spark.sql.subexpressionElimination.enabled": "false",
}
"""The settings for small inputs, where compiling Java for each stage and replanning after each stage cost more than they save."""
QUICK_JAVA: Final = (
    "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m",
    "-XX:Tier3InvocationThreshold=100", "-XX:Tier3MinInvocationThreshold=50", "-XX:Tier3CompileThreshold=1000",
    "-XX:Tier3BackEdgeThreshold=20000", "-XX:MetaspaceSize=256m", "-XX:NewRatio=1",
)  # fmt: skip
"""The options for Java's quick compiler alone, at half of its thresholds. Java would reserve only 48 MB for its code, which a long
session fills, after which Spark ends. Memory is allocated at the start, because otherwise Java collects garbage in the first seconds,
when there is hardly any."""
COMPILING: Final = {
    # The limit is in bytes. Java never compiles a longer method, and interpreting it takes three times as long.
    "spark.sql.codegen.hugeMethodLimit": "8000",
}
"""The settings for inputs where compilation pays."""
THOROUGH_JAVA: Final = (
    "-XX:Tier4InvocationThreshold=20000", "-XX:Tier4MinInvocationThreshold=5000", "-XX:Tier4CompileThreshold=40000",
    "-XX:Tier4BackEdgeThreshold=100000",
)  # fmt: skip
"""The options for both of Java's compilers, of which the slow one starts later than by default. By default it takes a fourth of all
cores' time for a minute, much of it for code that plans and generates code and is not used any more afterwards."""
PARALLEL: Final = "-XX:+UseParallelGC"
"""The parallel collector, because nobody waits for an answer within milliseconds. Java's default (G1) makes each write of a reference
more expensive and holds more memory. The serial one pauses all threads for 1.5 s of a small job's 30 s."""
COMPILED: Final = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.codegen.maxFields": "200",  # A journal line has more fields than the default limit of 100.
    **COMPILING,
    # The elimination of subexpressions generates methods that are too long for Java to compile.
    "spark.sql.subexpressionElimination.enabled": "false",
    # With code generation for unions Spark 4.3 would take each row apart once more.
    "spark.sql.codegen.wholeStage.union.enabled": "false",
}
"""The settings for one query that does much with every line (compiling.py), in any session."""
COLLECTOR: Final = re.compile(r"-XX:\+Use\w+GC\b")
"""Matches an option for Java that chooses a garbage collector. Java refuses to start with two of them."""
PARTITIONS_PER_CORE: Final = 4
"""The number of a shuffle's partitions per core for large inputs. Spark's default of 200 suits a cluster."""
LOCAL: Final = re.compile(r"local(?:\[(\*|\d+)(?:,\s*(?:\*|\d+))?\])?")
GIB: Final = 1 << 30
CGROUP: Final = Path("/sys/fs/cgroup/memory.max")
"""The memory limit of a container, or `max`."""


class Machine(NamedTuple):
    """The cores of a machine and its memory in bytes."""

    cores: int
    memory: int


def this_machine() -> Machine:
    """Describe the machine, or the container, in which this process runs."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = CGROUP.read_text().strip() if CGROUP.exists() else "max"
    return Machine(os.cpu_count() or 1, min(memory, int(limit)) if limit.isdigit() else memory)


def cores(master: str, machine: Machine) -> int | None:
    """Return the cores that Spark may use, or None if it runs in other processes."""
    found = LOCAL.fullmatch(master)
    if found is None:
        return None
    return machine.cores if found[1] == "*" else int(found[1] or 1)


def suiting(master: str | None, size: int | None, machine: Machine, archive: Sequence[str] = (), told: str = "") -> dict[str, str]:
    """Return settings for a Spark that starts at `master` to read `size` bytes (None: unknown, hence treated as large). `archive` are
    options for Java, and `told` are the user's options, whose collector has priority. A cluster has its own settings."""
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
        # Without this limit Spark would start one task per journal.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(PARTITIONS_PER_CORE * count),
    }


def _heap(count: int, machine: Machine) -> int:
    """Return the heap in MiB: 4 GiB or 1 GiB per core, whichever is more, but at most half of the memory, because Python workers need
    the other half."""
    return min(max(4, count) * GIB, machine.memory // 2) >> 20


def _initially(heap: int, machine: Machine) -> str:
    """Return the option for Java's initial heap. A percentage yields to a smaller maximum, with which Java refuses to start given -Xms."""
    return f"-XX:InitialRAMPercentage={100 * (heap << 20) / machine.memory:.3f}"
