"""Random requests to real Apache Kafka and to the pure core, every answer compared field by field, orders of lists included.

Needs java and the shared folder; run by .ci/run. What it does is in tests/support/group_twin.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
TWIN = ROOT / "tests" / "support" / "group_twin.py"
BASE = ("group.initial.rebalance.delay.ms=1000", "group.min.session.timeout.ms=100")
RELEASES = {"kafka-4.3": "4.3.0", "kafka-3.9": "3.9.1", "kafka-2.8": "2.8.2"}
SEEDS = 4
SIZES = {"any size": None, "at most three members": 3}


@pytest.mark.fidelity
@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("profile", RELEASES)
def test_the_core_answers_as_kafka(profile: str, size: int | None) -> None:
    limits = (f"group.max.size={size}",) if size else ()
    sets = [word for setting in (*BASE, *limits) for word in ("--set", setting)]
    how = ["--profile", profile, "--seeds", "0", str(SEEDS), *(["--max-size", str(size)] if size else [])]
    done = subprocess.run(
        [sys.executable, str(ORACLE), "run", "--version", RELEASES[profile], *sets, "--", sys.executable, str(TWIN), *how],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert done.stdout.count(": equal") == SEEDS
