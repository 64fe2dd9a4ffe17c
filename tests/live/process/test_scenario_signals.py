"""A signal that ends `groupmock scenario` leaves no member process behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import until

STORY = ("run", "scale-up", "--live", "--protocol", "range/aiokafka", "--members", "2", "--partitions", "2")


DEAF = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""Command prefix that starts a process with SIGINT ignored, as a shell does for background processes."""


@pytest.mark.parametrize("start", [(), DEAF], ids=["foreground", "background"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_members_too(number: signal.Signals, start: tuple[str, ...], tmp_path: Path) -> None:
    """No process can handle SIGKILL, so the members must end by themselves when they get no more orders."""
    command = [*start, sys.executable, "-m", "groupmock", "scenario", *STORY, "--journal", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "scale-up-range-aiokafka-live.jsonl"
    until("a member", lambda: journal.exists() and b'"added"' in journal.read_bytes(), journal.exists)
    (forkserver,) = children(process.pid)
    members = children(forkserver)
    assert members

    def alive() -> list[int]:
        return [each for each in (forkserver, *members) if running(each)]

    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    if number is not signal.SIGKILL:
        assert (process.returncode, out, err) == (130, "", "groupmock scenario: interrupted\n")
    until("everybody's end", lambda: not alive(), alive)


def children(pid: int) -> list[int]:
    """Return the children of that process's main thread."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def running(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
