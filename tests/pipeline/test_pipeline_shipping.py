"""Tests how files reach Spark's Python workers, and the messages if a worker or the Spark Connect client is missing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from groupmock.audit.rule import registered
from groupmock_codec.extras import pip_install
from groupmock_pipeline import session
from groupmock_pipeline.command import LACKING
from groupmock_pipeline.errors import SparkCannotStart, lacks_on_workers
from groupmock_pipeline.shipping import PACKAGES, zipped

IMPORTED = """
import sys
sys.path.insert(0, sys.argv[1])
import groupmock_pipeline.audited.journal_lines
import groupmock_pipeline.audited.run_audit
import groupmock_pipeline.campaign.simulated
import groupmock_pipeline.campaign.table_row
from groupmock.audit.rule import registered
print(len(registered()))
print(*sorted(name for name, module in sys.modules.items() if name.startswith("groupmock") and sys.argv[1] not in (module.__file__ or "")))
"""


def test_the_packages_work_out_of_the_zip_that_workers_get(tmp_path: Path) -> None:
    command = [sys.executable, "-c", IMPORTED, str(zipped(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(registered())}\n\n", "every module is the zip's"


@pytest.mark.parametrize(
    ("module", "sent", "remedy"),
    [(PACKAGES[-1], False, "--ship sends it"), (PACKAGES[0], True, "install it there"), ("msgspec", False, "install it there")],
)
def test_workers_that_lack_a_module_are_told_in_one_sentence(module: str, sent: bool, remedy: str) -> None:
    told = LACKING.search(f"Traceback (most recent call last):\n  ...\nModuleNotFoundError: No module named '{module}'\n")
    assert told is not None
    assert str(lacks_on_workers(told[1], sent)).startswith(f"Spark's Python workers have no {module}: {remedy}")


def test_spark_connect_without_its_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_there", lambda module: module != "grpc_status")
    with pytest.raises(SparkCannotStart, match=re.escape(f"grpc_status for Spark Connect: {pip_install('pipeline', 'pipeline-connect')}")):
        session.session("any", remote="sc://127.0.0.1:1")
