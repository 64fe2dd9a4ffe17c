"""The situation "the first screen of the pipeline's report", made by the commands that a user gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

SCENARIOS: Final = ("death-in-time", "rolling-bounce", "scale-up")
PROTOCOLS: Final = ("range", "design-2/scripted", "kip-848")


def first_screen(folder: Path) -> Path:
    """Return a report over the journals of a few scenarios with an eager assignor, Design II and KIP-848. Takes a minute, as Spark runs."""
    protocols = [word for name in PROTOCOLS for word in ("--protocol", name)]
    _groupmock("scenario", "table", *SCENARIOS, *protocols, "--journal", str(folder / "journals"))
    _groupmock("pipeline", "all", str(folder / "journals"), str(folder / "lake"), "--report", str(folder / "out"))
    return folder / "out" / "report.html"


def _groupmock(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "groupmock", *words], check=True, timeout=900, stdout=subprocess.DEVNULL)
