"""ApiVersions of real Apache Kafka and of us, every version of it, for everything that we serve.

Needs java and the shared folder. The comparison is in tests/support/api_versions_twin.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
TWIN = ROOT / "tests" / "support" / "api_versions_twin.py"
RELEASES = {"4.3": "4.3.0", "3.9": "3.9.1"}


@pytest.mark.parametrize("release", RELEASES)
def test_advertised_as_kafka_does(release: str) -> None:
    kafka = [sys.executable, str(ORACLE), "run", "--version", RELEASES[release], "--"]
    there = {**os.environ, "PYTHONPATH": str(ROOT)}  # tools/ is in no package
    command = [*kafka, sys.executable, str(TWIN), "--release", release]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=there)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert done.stdout == "equal\n"
