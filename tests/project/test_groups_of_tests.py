"""pytest-xdist runs tests that share something expensive (a Spark session, live clients) in one worker if they are marked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = """
import os, pathlib, pytest

@pytest.mark.xdist_group("dear")
@pytest.mark.parametrize("number", range(12))
def test_dear(number):
    pathlib.Path(__file__).with_name("workers").open("a").write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_a_group_runs_in_one_worker(pytester: pytest.Pytester) -> None:
    """pytest 9.2 with pytest-xdist 3.8 silently distributed a marked group over all workers."""
    file: Path = pytester.makepyfile(TESTS)
    done = pytester.run(sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", str(file))
    assert done.ret == 0, done.outlines
    assert len(set(file.with_name("workers").read_text().split())) == 1
