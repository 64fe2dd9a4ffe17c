"""Ctrl-C ends every verb with one sentence and exit code 130 or with its normal end, and its child processes too."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from groupmock import cli
from groupmock.cli import ENDLESS, _parser, main, run, verbs
from groupmock_clients.scenarios.results import _interrupts_blocked

JOURNAL = str(next((Path(__file__).parents[1] / "data" / "journals").glob("aiokafka*")))
OURS = tuple(str(Path(import_module(name).__path__[0])) for name in ("groupmock", "groupmock_clients", "groupmock_codec"))
ENDING = {
    "apis": ["apis"],
    "audit": ["audit", JOURNAL],
    "config": ["config"],
    "explain": ["explain"],
    "count": ["journal", "count", JOURNAL],
    "find": ["journal", "find", JOURNAL],
    "replay": ["replay", JOURNAL],
    "scenario": ["scenario", "run", "tour", "--protocol", "range/scripted"],
    "story": ["story", JOURNAL],
    "timeline": ["timeline", JOURNAL, "-o", os.devnull + ".html"],
}
"""Verbs that end by themselves and need no other process."""

Hook = Callable[[FrameType, str, Any], None]


@pytest.fixture
def profiled() -> Iterator[Callable[[Hook | None], None]]:
    """Yield the function that installs a profiling hook, and remove the hook afterwards."""
    yield sys.setprofile
    sys.setprofile(None)


def once(code: CodeType) -> Hook:
    """Return a hook that sends Ctrl-C when the function with this code is called."""

    def look(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is code:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    return look


class Calls:
    """Counts calls of groupmock's functions and sends Ctrl-C at the call number `at`."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.count = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.count += 1
            if self.count == self.at:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_interrupt_ends_every_verb_in_order(
    verb: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], profiled: Callable[[Hook], None]
) -> None:
    module = import_module(verbs()[verb])
    for parse in ("parse_args", "parse_intermixed_args"):
        monkeypatch.setattr(_parser.Parser, parse, lambda self, words: argparse.Namespace())
    profiled(once(module.run.__code__))
    code = main([verb])
    assert (code, capfd.readouterr().err) == ((0, "") if verb in ENDLESS else (130, f"groupmock {verb}: interrupted\n"))


@pytest.mark.parametrize("words", [["record", "--", "x"], ["watch", "--once"]], ids=" ".join)
def test_interrupt_of_an_endless_verb_that_was_given_an_end_is_one(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "_run", lambda words: signal.raise_signal(signal.SIGINT))
        assert (main(words), capfd.readouterr().err) == (130, f"groupmock {words[0]}: interrupted\n")


@pytest.mark.parametrize("name", ENDING)
def test_interrupt_at_any_time_is_one_sentence(
    name: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, profiled: Callable[[Hook | None], None]
) -> None:
    words = [str(tmp_path / "picture.html") if word.startswith(os.devnull) else word for word in ENDING[name]]
    main(words)  # The first run imports modules on first use, so that the second run makes the same calls as the later ones.
    counted = Calls()
    profiled(counted)
    main(words)
    profiled(None)
    capfd.readouterr()
    for part in (0.3, 0.6, 0.9):
        profiled(Calls(int(counted.count * part)))
        code, (out, err) = main(words), capfd.readouterr()
        assert (code, err.splitlines()[-1]) == (130, f"groupmock {words[0]}: interrupted")
        assert "Traceback" not in out + err


def test_interrupt_that_made_something_else_go_wrong_is_one(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_in_upon(words: list[str]) -> int:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            raise AttributeError("what the rest of the block would have made")

    monkeypatch.setattr(cli, "_run", broken_in_upon)
    assert (main(["config"]), capfd.readouterr().err) == (130, "groupmock config: interrupted\n")


@pytest.mark.parametrize("text", ["signal.raise_signal(2)", "raise KeyboardInterrupt('nothing is judged')"])
def test_interrupt_of_a_process_is_its_exit_code(text: str) -> None:
    """CPython would end the process by a signal if Ctrl-C arrives while source text is executed, for example in the definition of a
    named tuple."""
    program = f"import signal, sys; from groupmock import cli; cli._run = lambda words: exec({text!r})"
    program += "; sys.argv = ['groupmock', 'audit']; sys.exit(cli.main())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    more = ": nothing is judged" if "nothing" in text else ""
    assert (done.returncode, done.stderr) == (130, f"groupmock audit: interrupted{more}\n")


def test_interrupt_while_the_command_line_is_imported_is_one_sentence() -> None:
    program = "import runpy, sys\nclass Finder:\n def find_spec(*names):\n  if names[1] == 'argparse': raise KeyboardInterrupt\n"
    program += "sys.modules.pop('argparse', None); sys.meta_path.insert(0, Finder()); runpy.run_module('groupmock', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "groupmock: interrupted\n")


COUNTS = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print("up", flush=True)
signal.sigwait({signal.SIGINT})
sys.exit(11 + len(signal.sigpending()))
"""
"""A program that exits with 10 plus the number of interrupts that it received."""


def test_interrupt_of_a_process_group_reaches_the_command_once() -> None:
    words = [sys.executable, "-m", "groupmock", "run", "--log", "off", "--", sys.executable, "-c", COUNTS]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (11, "")


def test_interrupt_of_groupmock_alone_reaches_the_command_too() -> None:
    words = [sys.executable, "-m", "groupmock", "run", "--log", "off", "--", sys.executable, "-c", COUNTS]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (11, "")


def test_interrupt_while_the_command_is_started_is_for_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    start, passed = asyncio.create_subprocess_exec, []

    async def interrupted(*words: str, **more: Any) -> asyncio.subprocess.Process:
        signal.raise_signal(signal.SIGINT)
        # asyncio learns about a signal through the same pipe as about finished threads, so two finished threads give the signal time to
        # arrive.
        for _ in range(2):
            await asyncio.to_thread(int)
        return await start(*words, **more)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", interrupted)
    monkeypatch.setattr(run, "_pass_on", lambda child, number: passed.append(number))
    assert (asyncio.run(run.status_of(["true"], dict(os.environ))), passed) == (0, [signal.SIGINT])


def test_workers_of_scenarios_do_not_hear_interrupts() -> None:
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"

    def blocked() -> str:
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    with _interrupts_blocked():
        inside = blocked()
    assert (inside, blocked()) == ("True\n", "False\n")
