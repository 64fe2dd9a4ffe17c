"""A real Kafka behind the recording proxy gives the same picture as the same scenario here (tests/support/timeline_twin.py), played anew.

Needs java and the shared folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from timeline_twin import SETTINGS

ROOT = Path(__file__).resolve().parents[3]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
TWIN = ROOT / "tests" / "support" / "timeline_twin.py"


@pytest.mark.parametrize("version", ["4.3.0", "3.9.1"])
def test_kafka_behind_the_proxy_gives_our_picture(version: str, tmp_path: Path) -> None:
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(TWIN.parent), os.environ.get("PYTHONPATH", "")])}
    sets = [word for setting in SETTINGS for word in ("--set", setting)]
    command = [sys.executable, str(TWIN), str(tmp_path / "kafka.jsonl")]
    done = subprocess.run(
        [sys.executable, str(ORACLE), "run", "--version", version, *sets, "--", *command],
        capture_output=True, text=True, check=False, env=there,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "equal"
