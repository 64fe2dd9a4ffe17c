"""The JavaScript code of docs/how-to/seed-and-read.md does what the page says, with nothing but Node."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from groupmock import Broker

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "seed-and-read.md"
PATIENCE = 60


def test_the_page_in_javascript(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine")
    (program,) = re.findall(r"```javascript\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = tmp_path / "page.mjs"
    file.write_text(program)
    with Broker(control=0) as broker:
        environment = os.environ | {"GROUPMOCK_CONTROL_URL": str(broker.control)}
        done = subprocess.run([node, str(file)], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[ { cents: 250 }, null ] 2\n", "")
