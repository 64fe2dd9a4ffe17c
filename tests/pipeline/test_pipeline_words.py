"""The pipeline escapes names on stderr, because the names come from journals that other programs wrote."""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys

import pytest

from groupmock.cli import main
from groupmock_pipeline.command import BAD_USE, _Printable
from groupmock_pipeline.jobs import all as everything

STEERS = "x\x1b[2J\r\nFORGED\x9b\u202e\u2028"
SHOWN = r"x\x1b[2J\r\nFORGED\x9b\u202e\u2028"


def test_a_log_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("of its own")
    handler = logging.StreamHandler()
    handler.setFormatter(_Printable("%(message)s"))
    log.propagate = False
    log.addHandler(handler)
    log.warning("table %s: written", STEERS)
    try:
        raise ValueError("\x1b\u2028")
    except ValueError:
        log.exception("failed")
    first, second, *trace = capsys.readouterr().err.splitlines()
    assert (first, second) == (f"table {SHOWN}: written", "failed")
    assert trace[-1] == r"ValueError: \x1b\u2028"


def test_a_complaint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", STEERS, "in", "out"]) == BAD_USE
    err = capsys.readouterr().err
    assert err.startswith("groupmock pipeline: no job 'x\\x1b[2J") and len(err.splitlines()) == 1
    assert all(each.isprintable() for each in err.rstrip("\n"))


def test_what_is_loaded_while_java_starts_says_nothing_where_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules load in a thread, so an exception there would print a traceback before the clear error message."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    everything.load(argparse.Namespace(report="out"))
    everything.load(argparse.Namespace(report=None))


def test_what_plays_a_group_is_not_loaded_for_who_reads_what_was_played() -> None:
    """Importing a cluster and its simulation would add a third of a second to the start of every job."""
    script = "import sys, groupmock_pipeline.jobs.all; print(*(name for name in sys.modules if name.startswith('groupmock.core.')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
