"""`groupmock probe` stretches its dialogues for a broker with Kafka's defaults, whose timers cannot be shortened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GROUPMOCK = [sys.executable, "-m", "groupmock"]
SECONDS = 120


def test_a_default_broker_is_judged_in_slow_motion(tmp_path: Path) -> None:
    """The broker has an initial rebalance delay of 3 s and session timeouts from 6 s."""
    file = tmp_path / "report.json"
    serve = [*GROUPMOCK, "serve", "--port", "0", "--log", "off", "--profile", "kafka-4.3"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            address = json.loads(server.stdout.readline())["bootstrap"]
            probe = [*GROUPMOCK, "probe", address, "--only", "SERVER-08", "--only", "SERVER-31-last", "--quick"]
            words = ["--report", "json", "--output", str(file)]
            done = subprocess.run([*probe, *words], capture_output=True, text=True, timeout=SECONDS, check=False)
        finally:
            server.terminate()
    report = json.loads(file.read_text())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    slowness = {each["name"].partition("[")[0]: each["stretched"] for each in report["exchanges"] if each["verdict"] == "kept"}
    assert slowness["SERVER-08"] == 7.5 and slowness["SERVER-31-last"] == 24
    assert report["broker"]["release"] == "4.3" and report["broker"]["sure"].startswith("certain")
