"""Every exchange on real Apache Kafka: the broker is the judge of our expectations. Needs java and the shared folder.

Brokers come in classes of settings, one start for each; what takes longer than LONGEST_S is left to `probe --longest`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
LONGEST_S = 30
BASE = ("group.initial.rebalance.delay.ms=400", "group.min.session.timeout.ms=100")
CLASSES = {
    "plain": (),
    "small groups": ("group.max.size=2",),
}
FEWEST = 450
"""What 2.8 with groups of two at most has for the dialogues: about 510 are kept, the others cannot be provoked or are of other releases."""
VERSIONS = {"4.3": "4.3.0", "3.9": "3.9.1", "2.8": "2.8.2"}


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
    wanted = ["--longest", str(LONGEST_S)]
    command = ["sh", "-c", " ".join([*probe, *wanted])]
    done = subprocess.run(
        [sys.executable, str(ORACLE), "run", "--version", VERSIONS[release], *sets, "--", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.partition("\nBroken:\n")[2] or done.stdout[-2000:] + done.stderr[:2000]
    kept = re.search(r"^exchanges: (\d+) kept, 0 broken", done.stdout, re.MULTILINE)
    assert kept is not None and int(kept[1]) > FEWEST, done.stdout[-500:]
