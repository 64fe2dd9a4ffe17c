"""The same seed and script give the same journal byte for byte, and so does its replay.

Case: `seed` alone, because fault_script.py draws the events during the run. A find therefore depends on that file: it is void when the file
draws otherwise. Its journal shows the events.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from fault_script import Run
from found import Case, Property

from groupmock.rig.replay import replay


def _holds(case: Case) -> None:
    seed = case["seed"]
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first.jsonl"), Path(folder, "second.jsonl")
        for path in (first, second):
            Run(seed, path).play()
        assert first.read_bytes() == second.read_bytes(), f"seed {seed}: two runs differ"
        result = replay(first)
        assert result.difference is None, f"seed {seed}: {result.difference}"
        assert "internal error" not in first.read_text(), f"seed {seed}: a defect of groupmock itself"


FAULT_SCRIPT = Property("fault-script", _holds)
