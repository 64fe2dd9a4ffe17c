"""`groupmock like` of real Apache Kafka: a cluster with topics, configs, groups and records, copied, and the copy compared with it.

Needs java and the shared folder. The comparison is in tests/support/like_twin.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
TWIN = ROOT / "tests" / "support" / "like_twin.py"


@pytest.mark.parametrize(("version", "profile", "nodes"), [("4.3.0", "kafka-4.3", 2), ("3.9.1", "kafka-3.9", 1), ("4.3.0", "groupmock", 1)])
def test_a_copy_answers_as_the_cluster_does(version: str, profile: str, nodes: int) -> None:
    kafka = [sys.executable, str(ORACLE), "run", "--version", version, "--nodes", str(nodes), "--"]
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])}
    command = [*kafka, sys.executable, str(TWIN), "--profile", profile, "--nodes", str(nodes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=there)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert done.stdout == "equal\n"
