"""Fetch from follower (KIP-392) of three real nodes in three racks, and of us (tests/support/read_replica_twin.py).

Needs java and the shared folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared")
TWIN = ROOT / "tests" / "support" / "read_replica_twin.py"


@pytest.mark.parametrize("version", ["4.3.0", "3.9.1"])
def test_a_consumer_is_sent_where_kafka_sends_it(version: str) -> None:
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(TWIN), "--version", version, "--shared", str(SHARED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=there)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert done.stdout == "equal\n"
