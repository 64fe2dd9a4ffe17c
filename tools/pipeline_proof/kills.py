"""Kill a command that writes a lake by SIGKILL at random moments, and check what readers see then, and whether the next run completes the
lake.

A trial restores the lake, runs the command, and kills it at a time or at one of the command's own file events. A reader in another process,
with a session that stays open, must see the lake as before or as after, table by table, also while the command runs. The next run may be
killed as well. A run that is not killed exits with 0, and then the lake equals, row for row, that of an undisturbed run.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from .file_events import FileEvents

TICK_S: Final = 0.05
LIMIT_S: Final = 600.0
LATEST: Final = 1.02
"""The latest time to kill, as a share of the time of an undisturbed run."""
SOONEST: Final = 0.3
"""The earliest time to kill, in seconds after the start of the command. Before that only Java starts."""
LINGER_S: Final = 0.03
"""The longest delay between a file event and the kill, in seconds."""
View = dict[str, Any]
BEFORE, BETWEEN, AFTER = "before", "between", "after"
"""The states of the lake that a reader may see. `between` means that some files are as before and others as after, each as a whole,
because an ingest commits last the journals that Spark cannot read as a whole."""
TURN: Final = "a commit between two tables"
NEITHER: Final = "NEITHER"


class Moment(NamedTuple):
    """The time to kill: that many seconds after the start, or after that file event."""

    seconds: float
    event: int | None = None

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s" if self.event is None else f"{self.seconds * 1000:.0f} ms after file event {self.event}"


class Undisturbed(NamedTuple):
    """The duration and the file events of a run that is not killed."""

    seconds: float
    events: int


@dataclass
class Struck:
    """The result of a command that was to be killed, and may have ended before."""

    killed: bool
    code: int
    said: str
    seconds: float
    events: int
    last: str


class Onlooker:
    """A process that reads the lake while other commands write it."""

    def __init__(self, words: Sequence[str]) -> None:
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert json.loads(self._pipe(self.process.stdout).readline() or "null") == "ready", "the reader does not start"

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe

    def look(self) -> View:
        """Return what the reader of the lake sees now."""
        seen: View = self._asked([])
        return seen

    def run(self, words: Sequence[str]) -> str:
        """Let the reader run a job. Returns its error, or ""."""
        return str(self._asked(list(words)))

    def _asked(self, words: list[str]) -> Any:
        self._pipe(self.process.stdin).write(json.dumps(words) + "\n")
        self._pipe(self.process.stdin).flush()
        return json.loads(self._pipe(self.process.stdout).readline())

    def close(self) -> None:
        """End the reader, which stops when its stdin ends."""
        with self.process:  # Leaving the block closes both pipes and waits for the process.
            pass


@contextmanager
def onlooker(words: Sequence[str]) -> Iterator[Onlooker]:
    """Start a reader that ends with the block."""
    made = Onlooker(words)
    try:
        yield made
    finally:
        made.close()


def strike(words: Sequence[str], folder: Path, moment: Moment | None) -> Struck:
    """Run a command that writes below `folder`, and kill it with all its processes at the given moment, unless it ends before."""
    with FileEvents(folder) as events, tempfile.TemporaryFile("w+") as said:
        begun = time.monotonic()
        process = subprocess.Popen(words, start_new_session=True, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        killed = False
        try:
            while process.poll() is None:
                events.wait(TICK_S)
                spent = time.monotonic() - begun
                if moment is not None and (spent >= moment.seconds if moment.event is None else events.count >= moment.event):
                    if moment.event is not None:
                        time.sleep(moment.seconds)
                    killed = process.poll() is None
                    break
                assert spent < LIMIT_S, f"{words}: not done after {LIMIT_S} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        return Struck(killed, process.returncode, said.read(), time.monotonic() - begun, events.count, events.last)


def states(words: Sequence[str], folder: Path, kept: Path) -> Iterator[Path]:
    """Yield a copy of `folder` after each of a command's file events, made while its processes are stopped. A copy is what SIGKILL would
    leave."""
    with FileEvents(folder) as events:
        process = subprocess.Popen(
            words, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            before = 0
            while process.poll() is None:
                events.wait(TICK_S)
                if events.count > before and process.poll() is None:
                    os.killpg(process.pid, signal.SIGSTOP)
                    before = events.count
                    state = kept / f"{before:05}"
                    shutil.copytree(folder, state)
                    os.killpg(process.pid, signal.SIGCONT)
                    yield state
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@dataclass
class Trial:
    """One kind of kill trial: the initial lake, the command, and what a reader sees before and after."""

    name: str
    before: Path
    """The lake as it is before the command. A missing folder means no lake."""
    words: Sequence[str]
    """The job of the pipeline with its arguments IN and OUT."""
    seen_before: View = field(default_factory=dict)
    seen_after: View = field(default_factory=dict)
    undisturbed: Undisturbed = field(default_factory=lambda: Undisturbed(0.0, 0))

    @property
    def command(self) -> list[str]:
        """Return the command as a user types it, with settings for a small session."""
        return [sys.executable, "-m", "groupmock_pipeline", *self.words, "--master", "local[2]", "--set", "spark.driver.memory=1g"]


@dataclass
class Harness:
    """A lake at a fixed path (its log may contain paths), and the process that reads it."""

    lake: Path
    reader: Onlooker
    tell: Callable[[str], None]

    def restore(self, trial: Trial) -> None:
        """Restore the lake as it was before the trial."""
        shutil.rmtree(self.lake, ignore_errors=True)
        if trial.before.exists():
            shutil.copytree(trial.before, self.lake)

    def learn(self, trial: Trial) -> None:
        """Record what an undisturbed run of the trial's command makes, and how long it takes."""
        self.restore(trial)
        trial.seen_before = self.reader.look()
        done = strike(trial.command, self.lake.parent, None)
        assert done.code == 0, done.said
        trial.seen_after = self.reader.look()
        assert trial.seen_after.get("ledger") == 0, trial.seen_after
        trial.undisturbed = Undisturbed(done.seconds, done.events)
        told = [{name: value for name, value in view.items() if name != "files"} for view in (trial.seen_before, trial.seen_after)]
        self.tell(f"{trial.name}: undisturbed {done.seconds:.1f} s, {done.events} file events; {told[0]} -> {told[1]}")

    def drawn(self, trial: Trial, dice: random.Random) -> Moment:
        """Choose the moment of a kill by chance: a time or a file event."""
        whole = trial.undisturbed
        if whole.events and dice.random() < 0.5:
            return Moment(dice.random() * LINGER_S, dice.randint(1, whole.events))
        return Moment(dice.uniform(whole.seconds * SOONEST, whole.seconds * LATEST))

    def chain(self, trial: Trial, dice: random.Random, most: int) -> Chain:
        """Kill runs one after the other, each of which was to complete what the previous one left, and then run without a kill."""
        self.restore(trial)
        found = Chain(trial.name)
        while len(found.kills) < most and (not found.kills or found.kills[-1].left in (BEFORE, BETWEEN)):
            moment = self.drawn(trial, dice)
            struck = strike(trial.command, self.lake.parent, moment)
            if not struck.killed:
                break
            found.kills.append(Kill(str(moment), struck.events, struck.last, which(self.reader.look(), trial)))
        found.done = strike(trial.command, self.lake.parent, None)
        found.after = which(self.reader.look(), trial)
        return found

    def every_state(self, trial: Trial, kept: Path, most: int) -> Iterator[tuple[str, str, str]]:
        """Yield for each state of the lake between two file events its name, what readers see in it, and what they see after the next
        run, which happens in the reader's own session. At most `most` states are chosen, evenly spread."""
        self.restore(trial)
        found = list(states(trial.command, self.lake.parent, kept))
        step = max(1.0, (len(found) - 1) / max(1, most - 1))
        for state in [found[round(number * step)] for number in range(min(most, len(found)))]:
            shutil.rmtree(self.lake, ignore_errors=True)
            if (state / self.lake.name).exists():
                shutil.copytree(state / self.lake.name, self.lake)
            left = which(self.reader.look(), trial)
            said = self.reader.run(trial.words)
            yield state.name, left, f"{said}, {which(self.reader.look(), trial)}" if said else which(self.reader.look(), trial)

    def watched(self, trial: Trial) -> list[str]:
        """Return what a reader sees while the command runs, look after look: `before`, then `after`, or an error."""
        self.restore(trial)
        process = subprocess.Popen(trial.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = []
        while process.poll() is None:
            seen.append(which(self.reader.look(), trial, mixed=True))
        return [*seen, which(self.reader.look(), trial)]

    def two(self, trial: Trial, apart_s: float) -> Pair:
        """Run the trial's command twice at once, the second time with a delay."""
        self.restore(trial)
        with tempfile.TemporaryFile("w+") as one, tempfile.TemporaryFile("w+") as other:
            processes = []
            for wait, said in ((0.0, one), (apart_s, other)):
                time.sleep(wait)
                processes.append(subprocess.Popen(trial.command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT))
            codes = [process.wait() for process in processes]
            texts = []
            for said in (one, other):
                said.seek(0)
                texts.append(said.read())
        return Pair(apart_s, codes, texts, which(self.reader.look(), trial))


class Kill(NamedTuple):
    """One kill: its moment, and what readers saw then."""

    moment: str
    events: int
    last: str
    left: str

    def __str__(self) -> str:
        return f"{self.moment} (event {self.events}: {self.last}): {self.left}"


@dataclass
class Chain:
    """A series of kills of commands on one lake, the run after them, and its result."""

    trial: str
    kills: list[Kill] = field(default_factory=list)
    done: Struck | None = None
    after: str = ""

    @property
    def right(self) -> bool:
        """Tell whether all kills left a valid state and the run after them completed the lake."""
        whole = all(kill.left in (BEFORE, BETWEEN, AFTER) for kill in self.kills)
        return whole and self.done is not None and self.done.code == 0 and self.after == AFTER

    def __str__(self) -> str:
        assert self.done is not None
        outcome = "right" if self.right else f"WRONG: {self.done.said.strip()[-1500:]}"
        kills = "; ".join(map(str, self.kills))
        return (
            f"{self.trial}: killed {kills}; the next run: exit {self.done.code} in {self.done.seconds:.1f} s, then {self.after}: {outcome}"
        )


@dataclass
class Pair:
    """The outcome of two commands that ran at once on one lake."""

    apart_s: float
    codes: list[int]
    said: list[str]
    after: str

    @property
    def right(self) -> bool:
        """Tell whether one command succeeded and the other one ended with a one-sentence error, or found nothing left to do."""
        lost = [text.strip() for code, text in zip(self.codes, self.said, strict=True) if code]
        return self.after == AFTER and sorted(self.codes) in ([0, 0], [0, 2]) and all("\n" not in _said(text) for text in lost)

    def __str__(self) -> str:
        lost = [_said(text) for code, text in zip(self.codes, self.said, strict=True) if code]
        return f"two, {self.apart_s:.2f} s apart: exits {self.codes}, {lost}, then {self.after}: {'right' if self.right else 'WRONG'}"


def _said(text: str) -> str:
    """Drop a job's progress lines, and the messages of Java and Spark at their start."""
    kept = [line for line in text.strip().splitlines() if line.startswith(("groupmock pipeline", "Traceback", "  File", "py4j", "pyspark"))]
    return "\n".join(kept)


def which(seen: View, trial: Trial, mixed: bool = False) -> str:
    """Say which state of the lake a reader saw: `before`, `after`, `between`, or a description of any other. With `mixed`, a commit may
    have come between the readings of two tables."""
    for name, wanted in ((BEFORE, trial.seen_before), (AFTER, trial.seen_after)):
        if seen == wanted:
            return name
    if "error" not in seen:
        if not seen["ledger"] and _each_either(seen, trial, False):
            return BETWEEN
        if mixed and _each_either(seen, trial, True):
            return TURN
    told = {name: value for name, value in seen.items() if name != "files"}
    return f"{NEITHER} {json.dumps(told)} {_strange(seen, trial, mixed)}"


def _each_either(seen: View, trial: Trial, mixed: bool) -> bool:
    """Tell whether each table that a reader saw is as before the command or as after it. Tables of ingest are compared file by file,
    because each of its commits has some files."""
    others = (name for name in seen if name not in ("runs", "rows", "quarantine", "ledger", "files"))
    return not _strange(seen, trial, mixed) and all(seen[name] in (trial.seen_before[name], trial.seen_after[name]) for name in others)


def _strange(seen: View, trial: Trial, mixed: bool) -> list[str]:
    """Return the files whose lines in the tables of `ingest` are neither as before nor as after. With `mixed` each table is compared by
    itself."""
    sides = [side.get("files", {}) for side in (trial.seen_before, trial.seen_after)]
    there = seen.get("files", {})

    def strange(file: str) -> bool:
        has, wanted = there.get(file, {}), [side.get(file, {}) for side in sides]
        if mixed:
            return any(has.get(table) not in [side.get(table) for side in wanted] for table in {*has, *wanted[0], *wanted[1]})
        return has not in wanted

    return [file for file in {**sides[0], **sides[1], **there} if strange(file)]
