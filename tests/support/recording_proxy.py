"""Runs `groupmock record` beside a cluster."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def proxy(upstream: str, journal: Path) -> Iterator[str]:
    """Record the traffic of a cluster and yield the bootstrap address of the proxy."""
    command = [sys.executable, "-m", "groupmock", "record", "--upstream", upstream, "--journal", str(journal)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["bootstrap"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        assert process.wait(30) == 0
