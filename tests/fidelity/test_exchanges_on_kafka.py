"""Every exchange on real Apache Kafka: the broker is the judge of our expectations. Needs java and the shared folder; run by .ci/run.

Brokers come in classes of settings, one start for each; what takes longer than LONGEST_S is left to `probe --longest`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
LONGEST_S = 30
BASE = ("group.initial.rebalance.delay.ms=400", "group.min.session.timeout.ms=100")
CLASSES = {
    "plain": (),
    "small groups": ("group.max.size=2",),
}
VERSIONS = {"4.3": "4.3.0", "3.9": "3.9.1", "2.8": "2.8.2"}


@pytest.mark.fidelity
@pytest.mark.slow
@pytest.mark.parametrize("settings", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("release", VERSIONS)
def test_kafka_keeps_every_exchange(release: str, settings: tuple[str, ...]) -> None:
    sets = [word for setting in (*BASE, *settings) for word in ("--set", setting)]
    probe = [
        sys.executable,
        "-m",
        "groupmock_clients.probe",
        "$KAFKA_BOOTSTRAP",
        "--release",
        release,
        "--retries",
        "2",
        "--patience",
        "1.5",
    ]
    wanted = ["--longest", str(LONGEST_S), "--with", "transactions", "--with", "kip848", "--exchanges", str(ROOT / "tests" / "exchanges")]
    command = ["sh", "-c", " ".join([*probe, *wanted])]
    done = subprocess.run(
        [sys.executable, str(ORACLE), "run", "--version", VERSIONS[release], *sets, "--", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    broken = [line for line in done.stdout.splitlines() if line.startswith("broken")]
    assert done.returncode == 0, "\n".join(broken) or done.stdout[-2000:] + done.stderr[:2000]
    assert " kept" in done.stdout.splitlines()[-1]
