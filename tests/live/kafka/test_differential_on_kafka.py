"""Generated exchanges with a fresh seed on real Apache Kafka and on the core: no difference. Needs java, the shared folder; run by .ci/run.

GROUPMOCK_FIDELITY_SEED repeats a run, GROUPMOCK_FIDELITY_SECONDS makes it longer.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groupmock_clients.differential.settings_classes import BROKERS, CLASSES

ROOT = Path(__file__).resolve().parents[3]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
SECONDS = float(os.environ.get("GROUPMOCK_FIDELITY_SECONDS", "50"))
SHARE = {"plain": 1.0, "small": 0.3}
"""How much of the time a class of settings gets."""
WEIGHT = {"4.3": 1.4, "3.9": 0.6, "2.8": 0.6}
"""... and a release: together about three minutes, most of them for the newest."""
LONG_ENOUGH = 10**6


@pytest.mark.parametrize("settings", CLASSES)
@pytest.mark.parametrize("release", BROKERS)
def test_groups_answer_as_kafka(release: str, settings: str) -> None:
    seed = int(os.environ.get("GROUPMOCK_FIDELITY_SEED") or time.time_ns() // 10**9 % 10**8)
    sets = [word for key, value in CLASSES[settings].items() for word in ("--set", f"{key}={value}")]
    run = [sys.executable, "-m", "groupmock_clients.differential", "run", "groups", "--release", release, "--parallel", "16"]
    bounds = ["--seeds", str(seed), str(seed + LONG_ENOUGH), "--seconds", str(SECONDS * SHARE[settings] * WEIGHT[release])]
    command = [sys.executable, str(ORACLE), "run", "--version", BROKERS[release], *sets, "--", *run, *bounds]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(f"seed {seed}: {done.stdout.splitlines()[-1:]}")
    assert done.returncode == 0, f"seed {seed}\n{done.stdout[-6000:]}{done.stderr[-3000:]}"
    assert " exchanges=0 " not in done.stdout
