"""Play generated exchanges of fresh seeds on real Apache Kafka and on the core. A difference becomes a golden play, which decides."""

from __future__ import annotations

import itertools
import re
import shutil
import sys
import time
from typing import Final

from tools.fidelity import on_kafka
from tools.fidelity.generated.settings_classes import BROKERS
from tools.oracle import ORACLE
from tools.runs import ended

from .report import SearchPart
from .suite import SearchRequest

CHUNK_S: Final = 45
"""Seconds for which one broker is used before the next is started."""
TOOLS: Final = ("java", "mvn")
SUMMED_UP: Final = re.compile(r"\brequests=").search
"""Matches the closing line in the output of a run of tools.fidelity."""


def search(wanted: SearchRequest) -> SearchPart:
    """Play on brokers of all releases, one after the other, until the time is over."""
    part = SearchPart("kafka")
    for name in TOOLS:
        if shutil.which(name) is None:
            part.lacks(name)
    if not ORACLE.is_file():
        part.lacks(f"{ORACLE}, which starts Kafka (GROUPMOCK_SHARED names its folder)")
    if part.missing:
        return part
    end, seed = time.monotonic() + wanted.seconds, wanted.seed * 1_009 % 2**30
    for run in itertools.cycle(on_kafka.runs(list(BROKERS))):
        for family in run.families:
            if (left := end - time.monotonic()) < min(CHUNK_S, wanted.seconds) / 3:
                return part
            seed += 10_000
            if not _play(part, run, family, seed, min(CHUNK_S, left), wanted):
                return part
    return part


def _play(part: SearchPart, run: on_kafka.BrokerRun, family: str, seed: int, seconds: float, wanted: SearchRequest) -> bool:
    """Play one family of exchanges on one broker and on the core. Returns False if that failed."""
    flags = [word for key, value in on_kafka.settings_of(run).items() for word in ("--set", f"{key}={value}")]
    oracle = [sys.executable, str(ORACLE), "run", "--version", BROKERS[run.release], *flags, "--"]
    verb = ["bytes"] if family == "bytes" else ["run", family]
    words = [sys.executable, "-m", "tools.fidelity", *verb, "--release", run.release]
    if family == "bytes":
        words += ["--seeds", str(seed), str(seed + int(seconds * 10))]
    else:
        words += [
            "--seeds",
            str(seed),
            str(seed + 9_999),
            "--seconds",
            f"{seconds:.0f}",
            "--parallel",
            str(min(on_kafka.PARALLEL[family], 24)),
        ]
        words += ["--shrink", "--finds", str(wanted.finds)]
    done = ended([*oracle, *words], seconds * 4 + 600)
    if done.code not in (0, 1):
        part.failed(done.output)
        return False
    played = re.findall(r"\b(?:exchanges|requests|unstable|noisy)=\S+", next(filter(SUMMED_UP, reversed(done.output.splitlines())), ""))
    part.did.append(f"{family} on Kafka {BROKERS[run.release]} {run.settings}, seeds from {seed}: {' '.join(played)}")
    part.finds += re.findall(r"^find: .*?([^/\s]+\.json)$", done.output, re.MULTILINE)
    part.reds += [f"{family} {run.release} {run.settings}: {line}" for line in re.findall(r"^DIFFERS: (.*)$", done.output, re.MULTILINE)]
    return True
