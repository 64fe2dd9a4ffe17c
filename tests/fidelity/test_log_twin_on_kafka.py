"""Random data-plane requests to real Apache Kafka and to the pure core, every answer and every stored byte compared.

Needs java and the shared folder; run by .ci/run. What it does is in tests/support/log_twin.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
TWIN = ROOT / "tests" / "support" / "log_twin.py"
SEEDS = 4


@pytest.mark.fidelity
@pytest.mark.slow
def test_the_data_plane_answers_as_kafka() -> None:
    kafka = [sys.executable, str(ORACLE), "run", "--version", "4.3.0", "--"]
    twin = [sys.executable, str(TWIN), "--profile", "kafka-4.3", "--seeds", "0", str(SEEDS)]
    done = subprocess.run([*kafka, *twin], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    assert done.stdout.count(": equal") == SEEDS
