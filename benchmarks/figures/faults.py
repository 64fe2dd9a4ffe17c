"""Measures the cost of fault rules when there are none: the CPU of the driver against that of the last build before fault rules existed.

That build comes from the repository's own history; a clone without that history cannot measure this.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tarfile
import tempfile
from functools import partial
from pathlib import Path

from .. import servers
from ..bench import Bench
from ..generators import Failed, Missing
from ..machine import pinned
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("faults."))
BEFORE = "c025c1715bf1922c47f85cf0e865e722a63f3d86"
"""The last commit before `groupmock.faults` existed."""
KINDS = ("lease", "full", "rounds")
PAIRS = 200
"""The number of turns in which each build does the work in one process."""
WORKER = Path(__file__).parent.parent / "workers" / "hot_path.py"


def earlier(folder: Path, commit: str = BEFORE) -> Path:
    """Extract the sources of an earlier build into `folder`. Raises Missing where git or the commit is missing."""
    archive = folder / "before.tar"
    command = ["git", "-C", str(servers.ROOT), "archive", "--output", str(archive), commit, "broker", "codec"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Missing("git is not installed") from None
    if done.returncode:
        raise Missing(f"this clone does not have the commit {commit[:7]}, the build to compare with: {done.stderr.strip()}")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder


def share(bench: Bench, kind: str, one: Path, other: Path) -> float:
    """Return the CPU of `one` as a share of `other`'s, in one process. Raises Failed if the worker fails."""
    command = [sys.executable, str(WORKER), kind, str(one), str(other), str(int(bench.scaled(PAIRS, 3)))]
    with pinned(bench.cores.server):
        done = subprocess.run(command, capture_output=True, text=True, env=servers.environment(), check=False)
    if done.returncode:
        raise Failed(f"the hot path worker ended: {done.stderr.strip()[-500:]}")
    return float(done.stdout)


def ratio(bench: Bench, before: Path, kind: str) -> float:
    """Return the CPU that the earlier build uses, divided by the CPU of the present one. The mean of both orders counts, because the
    build that is loaded second is a little slower."""
    return math.sqrt(share(bench, kind, before, servers.ROOT) / share(bench, kind, servers.ROOT, before))


def run(bench: Bench) -> None:
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-before-") as folder:
        before = earlier(Path(folder))
        for kind in KINDS:
            for _ in range(bench.repeat):
                bench.results.add(f"faults.{kind}", bench.quiet.take(partial(ratio, bench, before, kind)))
