"""Start Apache Kafka on loopback by the script in the developers' shared folder. Needs java and mvn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tools.runs import ROOT

SHARED: Final = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared")
ORACLE: Final = SHARED / "oracle" / "kafka.py"


@contextmanager
def kafka(
    version: str = "4.3.0", settings: Mapping[str, Any] | None = None, nodes: int = 1, script: Sequence[str] = (str(ORACLE),)
) -> Iterator[str]:
    """Start a cluster of that version and yield its bootstrap address. Raises AssertionError with the script's output if it does not
    start. `script` is a Python script that is run instead of the oracle and calls it."""
    flags = [word for name, value in (settings or {}).items() for word in ("--set", f"{name}={value}")]
    with tempfile.TemporaryDirectory(prefix="groupmock-kafka-") as folder:
        start = [sys.executable, *script, "start", "--version", version, "--nodes", str(nodes), *flags, "--dir", folder]
        started = subprocess.run(start, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert started.returncode == 0, f"Apache Kafka {version} does not start: {started.stderr[-2000:]}"
        try:
            yield str(json.loads(started.stdout.splitlines()[-1])["bootstrap"])
        finally:
            subprocess.run([sys.executable, str(ORACLE), "stop", folder], stdin=subprocess.DEVNULL, capture_output=True, check=True)
