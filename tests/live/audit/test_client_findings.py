"""Every script of docs/how-to/client-findings breaks the rule that it names, with the library that it names."""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from groupmock.audit.offline import audit_journal
from groupmock.audit.verdicts import BROKEN

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "docs" / "how-to" / "client-findings"
SCRIPTS = sorted(file for file in FOLDER.iterdir() if file.suffix in (".py", ".js", ".mjs"))
PACKAGES = {".js": "KAFKAJS", ".mjs": "PLATFORMATIC"}
"""Suffix of a Node script -> the interop program that has its npm packages installed."""
LIMIT_S = 180


def told_by(script: Path) -> dict[str, str]:
    """Return the fields `client`, `breaks` and `run` from the head of a script."""
    return dict(re.findall(r"^(?:#|//) (\w+): (.*)$", script.read_text(encoding="utf-8"), re.MULTILINE))


def how_it_runs(script: Path, client: str, scratch: Path) -> tuple[Path, str]:
    """Return a folder in which the script finds its library, and the interpreter. A package may bring its own release of Node."""
    if script.suffix == ".py":
        library, _, release = client.partition(" ")
        if version(library) != release:
            pytest.skip(f"{library} {version(library)} is here, the finding is about {release}")
        return FOLDER, sys.executable
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("not on the PATH: node, npm")
    sys.path.append(str(ROOT / "tests" / "interop"))
    # These modules are in tests/interop, which is not on the import path.
    building, catalogue = (importlib.import_module(f"judges.{name}") for name in ("building", "catalogue"))

    for file in FOLDER.iterdir():
        shutil.copy(file, scratch)
    (scratch / "node_modules").symlink_to(building.built(getattr(catalogue, PACKAGES[script.suffix])) / "node_modules")
    return scratch, building.node(scratch, script.name)[0]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_script_shows_it(script: Path, tmp_path: Path) -> None:
    told = told_by(script)
    (folder, interpreter), journal = how_it_runs(script, told["client"], tmp_path), tmp_path / "finding.jsonl"
    words = [str(journal) if word == "finding.jsonl" else word for word in shlex.split(told["run"])]
    assert words[0] == "groupmock" and words[-1] == script.name
    assert words[-2] in ("python", "node")
    words[-2] = interpreter
    done = subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    with journal.open("rb") as file:
        found = audit_journal(journal.name, file).audit
    assert found.rules[told["breaks"]].verdict == BROKEN, done.stdout


def test_scripts_are_short() -> None:
    assert SCRIPTS and all(len(script.read_text().splitlines()) <= 60 for script in SCRIPTS)
