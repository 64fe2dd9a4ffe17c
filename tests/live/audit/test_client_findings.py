"""Every script of docs/how-to/client-findings shows what it says: its run breaks the rule that it names, with the library that it names."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from groupmock.audit.offline import audit_journal
from groupmock.audit.verdicts import BROKEN

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "client-findings"
SCRIPTS = sorted(FOLDER.glob("*.py"))
LIMIT_S = 180


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_script_shows_it(script: Path, tmp_path: Path) -> None:
    told = dict(re.findall(r"^# (\w+): (.*)$", script.read_text(encoding="utf-8"), re.MULTILINE))
    library, _, release = told["client"].partition(" ")
    if version(library) != release:
        pytest.skip(f"{library} {version(library)} is here, the finding is about {release}")
    journal = tmp_path / "finding.jsonl"
    words = [str(journal) if word == "finding.jsonl" else word for word in shlex.split(told["run"])]
    assert words[0] == "groupmock" and words[-2:] == ["python", script.name]
    command = [sys.executable, "-m", *words[:-2], sys.executable, script.name]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    with journal.open("rb") as file:
        found = audit_journal(journal.name, file).audit
    assert found.rules[told["breaks"]].verdict == BROKEN, done.stdout


def test_there_are_scripts() -> None:
    assert SCRIPTS and all(len(script.read_text().splitlines()) <= 60 for script in SCRIPTS)
