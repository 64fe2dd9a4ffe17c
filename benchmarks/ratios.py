"""Keeps the medians of the figures by commit, so that a reader sees which commit made the server faster or slower."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.records import RECORDS, save

from .measurements import Measurements

FILE = RECORDS / "speed.json"


def keep(results: Measurements, machine: Mapping[str, str], file: Path = FILE) -> None:
    """Add the medians to the entry of the checked-out commit. A figure that is measured again replaces its former median."""
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    entries: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    entry = next((entry for entry in entries if entry["commit"] == commit), None)
    if entry is None:
        entry = {"commit": commit, "medians": {}}
        entries.append(entry)
    entry["at"] = machine["at"]
    entry["medians"] |= {key: [round(row.median, 3), len(row.values)] for key, row in results.rows.items() if row.values}
    save(file, entries)
