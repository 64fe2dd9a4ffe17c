"""Levels of transaction.version (TX-03, TX-23, TX-24): Apache Kafka 4.3.0 and us, after UpdateFeatures.

Needs java and the shared folder. The comparison is in tests/support/transaction_level_twin.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
TWIN = ROOT / "tests" / "support" / "transaction_level_twin.py"
INTERVAL = "transaction.abort.timed.out.transaction.cleanup.interval.ms=200"


def test_levels_of_transactions_are_those_of_kafka() -> None:
    kafka = [sys.executable, str(ORACLE), "run", "--version", "4.3.0", "--set", INTERVAL, "--"]
    there = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*kafka, sys.executable, str(TWIN)], capture_output=True, text=True, check=False, env=there)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert done.stdout == "equal\n"
