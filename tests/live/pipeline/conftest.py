"""All tests of the folder share one Spark session in one worker and the same journals."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from spark_quick import pytest_collection_modifyitems, spark

__all__ = ["journals", "pytest_collection_modifyitems", "spark"]

GROUP: Final = Path(__file__).parents[2] / "support" / "stock_group.py"
PLAN: Final = """
[[rule]]
name = "told-to-join-again"
when = { api = "Heartbeat", group = "kitchen" }
do = { kind = "error", code = "REBALANCE_IN_PROGRESS" }
times = 1
"""
RUNS: Final = (("aiokafka", "v1"), ("aiokafka", "v2"), ("kafka-python", "v1"), ("kafka-python", "v2"))
PATIENCE_S: Final = 300


@pytest.fixture(scope="session")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record the journals: a group of each library in two builds, the second of which sometimes fails; one journal is compressed."""
    folder = tmp_path_factory.mktemp("journals")
    plan = tmp_path_factory.mktemp("plan") / "plan.toml"
    plan.write_text(PLAN)
    for library, build in RUNS:
        name = f"{library}-{build}"
        broken = ("--plan", str(plan)) if build == "v2" else ()
        options = ("--topic", "orders:6", "--journal", str(folder / f"{name}.jsonl"), "--run", name, "--log", "off", *broken)
        words = [sys.executable, "-m", "groupmock", "run", *options, "--", sys.executable, str(GROUP), library]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
    packed = folder / "aiokafka-v1.jsonl"
    (folder / "aiokafka-v1.jsonl.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    return folder
