"""The lakes and commands of the kill trials: a first ingest, another one, one whose commit compacts the lake's log, and `rebalances`
likewise."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from . import corpus
from .kills import AFTER, BEFORE, BETWEEN, NEITHER, Harness, Trial, onlooker

INGESTED: Final = ("runs", "rows", "quarantine")
CHAIN: Final = 5
"""The greatest number of kills of one lake's commands in a row."""
APART_S: Final = (0.0, 0.0, 0.3, 1.0, 3.0)
"""Seconds between the starts of two concurrent commands."""
SMALL_INGESTS: Final = """
import sys
from groupmock_pipeline.command import main
lake, *journals = sys.argv[1:]
for each in journals:
    assert main(["ingest", each, lake, "--master", "local[2]", "--set", "spark.driver.memory=1g"], "ingest") == 0, each
"""
COMMITS: Final = 9
"""Spark's file sink compacts its log with every tenth batch (spark.sql.streaming.fileSink.log.compactInterval)."""
Tell = Callable[[str], None]


class Stage:
    """Journals that arrive in two steps, and a lake at a fixed path. Initial lakes are made there once and copied."""

    def __init__(self, work: Path) -> None:
        self.lake, self.journals, self._kept = work / "at" / "lake", work / "journals", work / "lakes"
        self.lake.parent.mkdir(parents=True)
        one, two = work / "stages" / "one", work / "stages" / "two"
        one.mkdir(parents=True)
        corpus.odd(one)
        corpus.scenarios(one)
        corpus.second(two, one)
        self._stages = corpus.laid([one, two], self.journals)
        self._ingest = ("ingest", str(self.journals), str(self.lake))
        self._job = ("rebalances", str(self.lake), str(self.lake))

    def ingests(self) -> list[Trial]:
        """Return three trials: a first ingest, one that finds more, and one after so many small ones that its commit compacts the log."""
        next(self._stages)
        self._run(Trial("", self.lake, self._ingest).command)
        one = self._keep("one")
        few = [str(path) for path in sorted((self.journals / "played").iterdir())[: COMMITS - 1]]
        self._run([sys.executable, "-c", SMALL_INGESTS, str(self.lake), *few])
        many = self._keep("many")
        next(self._stages)
        return [
            Trial("first ingest", self._kept / "none", self._ingest),
            Trial("ingest of more", one, self._ingest),
            Trial("ingest, many before", many, self._ingest),
        ]

    def jobs(self) -> list[Trial]:
        """Return the trials of job `rebalances`: on all journals, and on those that arrived later. Call it after `ingests`."""
        shutil.rmtree(self.lake)
        shutil.copytree(self._kept / "one", self.lake)
        for words in (self._job, self._ingest):
            self._run(Trial("", self.lake, words).command)
        some = self._keep("some")
        shutil.rmtree(self.lake / "rebalances")
        return [Trial("rebalances", self._keep("rows"), self._job), Trial("rebalances of more", some, self._job)]

    def _keep(self, name: str) -> Path:
        shutil.copytree(self.lake, self._kept / name)
        return self._kept / name

    @staticmethod
    def _run(words: list[str]) -> None:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


class Amount(NamedTuple):
    """The number of kill trials of each kind. `states` limits a command's states between two file events, and `pairs` the used entries
    of APART_S."""

    ingests: int
    jobs: int
    states: int
    pairs: int = len(APART_S)


def tried(work: Path, seed: int, amount: Amount, tell: Tell) -> Iterator[bool]:
    """Run all kill trials in a new folder. Yields whether each chain of kills, set of states, watch and pair was right."""
    stage, dice = Stage(work), random.Random(seed)
    yield from _each(work, stage.lake, stage.ingests(), amount.ingests, INGESTED, amount, dice, tell)
    if amount.jobs:
        yield from _each(work, stage.lake, stage.jobs(), amount.jobs, (*INGESTED, "rebalances"), amount, dice, tell)


def _each(
    work: Path, lake: Path, trials: list[Trial], kills: int, names: Sequence[str], amount: Amount, dice: random.Random, tell: Tell
) -> Iterator[bool]:
    with onlooker([sys.executable, "-m", "tools.pipeline_proof.onlooker", str(lake), *names]) as reader:
        harness = Harness(lake, reader, tell)
        for trial in trials:
            harness.learn(trial)
        yield from _killed(harness, trials, kills, dice)
        for apart_s in APART_S[: amount.pairs]:
            pair = harness.two(trials[-1], apart_s)
            tell(str(pair))
            yield pair.right
        for trial in trials:
            seen = harness.watched(trial)
            tell(f"{trial.name}: a reader sees, while it runs: {seen}")
            yield not any(each.startswith(NEITHER) for each in seen)
            if amount.states:
                yield from _states(harness, trial, work / "states" / trial.name, amount.states)


def _killed(harness: Harness, trials: list[Trial], count: int, dice: random.Random) -> Iterator[bool]:
    killed = turn = 0
    while killed < count:
        chain = harness.chain(trials[turn % len(trials)], dice, min(CHAIN, count - killed))
        turn += 1
        killed += len(chain.kills)
        if chain.kills:
            harness.tell(f"{killed} {chain}")
            yield chain.right


def _states(harness: Harness, trial: Trial, kept: Path, most: int) -> Iterator[bool]:
    """Check what a reader sees in the states after a command's file events, without starting Java for each."""
    seen = list(harness.every_state(trial, kept, most))
    wrong = [each for each in seen if each[1] not in (BEFORE, BETWEEN, AFTER) or each[2] != AFTER]
    first = next((name for name, left, _ in seen if left == AFTER), "none")
    harness.tell(f"{trial.name}: {len(seen)} states between file events, readers see what is new from {first} on; wrong: {wrong}")
    yield bool(seen) and not wrong
