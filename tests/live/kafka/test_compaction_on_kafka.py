"""A log cleaner's round on real Apache Kafka and ours, batch by batch, over logs drawn by chance (tests/support/compaction_twin.py).

Needs java and the shared folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
TWIN = ROOT / "tests" / "support" / "compaction_twin.py"


@pytest.mark.parametrize(("release", "version"), [("4.3", "4.3.0"), ("3.9", "3.9.1")])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_log_is_compacted_as_kafka_does(release: str, version: str, seed: int) -> None:
    kafka = [sys.executable, str(ORACLE), "run", "--version", version, "--set", "log.cleaner.backoff.ms=100", "--"]
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])}
    command = [*kafka, sys.executable, str(TWIN), "--release", release, "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=there)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert done.stdout == "equal\n"
