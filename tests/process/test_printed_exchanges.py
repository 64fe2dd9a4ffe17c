"""`groupmock probe` plays the exchanges that `differential show` prints, against a server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SECONDS = 120
SETTINGS = ["--set", "group.initial.rebalance.delay.ms=400", "--set", "group.min.session.timeout.ms=100", "--set", "log.retention.bytes=-1"]


def test_what_the_differential_shows_a_server_keeps(tmp_path: Path) -> None:
    for family in ("groups", "log"):
        shown = subprocess.run(
            [sys.executable, "-m", "tools.fidelity", "show", family, "7"], capture_output=True, timeout=SECONDS, check=True
        )
        (tmp_path / f"{family}.exchange").write_bytes(shown.stdout)
    serve = [sys.executable, "-m", "groupmock", "serve", "--port", "0", "--log", "off", "--profile", "kafka-4.3", *SETTINGS]
    with subprocess.Popen(serve, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["bootstrap"]
        probe = [sys.executable, "-m", "groupmock", "probe", address, "--exchanges", str(tmp_path), "--patience", "20"]
        done = subprocess.run(probe, capture_output=True, text=True, timeout=SECONDS, check=False)
        server.terminate()
    assert done.returncode == 0, done.stdout
    assert "exchanges: 2 kept, 0 broken, 0 unknown, 0 not applicable" in done.stdout
