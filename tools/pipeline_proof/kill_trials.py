"""The lakes and commands that are killed: a first ingest, one more, one whose commit compacts the lake's log; `rebalances` likewise."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from . import corpus
from .kills import AFTER, BEFORE, Harness, Trial, onlooker

INGESTED: Final = ("runs", "rows", "quarantine")
CHAIN: Final = 5
"""Kills in a row, at most."""
APART_S: Final = (0.0, 0.0, 0.3, 1.0, 3.0)
"""How much later the second of two begins."""
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


def made(work: Path, lake: Path) -> tuple[list[Trial], list[Trial]]:
    """Trials of ingest and of the job, with the lakes that they begin with, each made at `lake`."""
    journals, one, two = work / "journals", work / "stages" / "one", work / "stages" / "two"
    one.mkdir(parents=True)
    corpus.odd(one)
    corpus.scenarios(one)
    corpus.second(two, one)
    ingest, job = ("ingest", str(journals), str(lake)), ("rebalances", str(lake), str(lake))
    at = {name: work / "lakes" / name for name in ("none", "one", "many", "rows", "some")}
    stages = corpus.laid([one, two], journals)
    next(stages)
    _run(Trial("", lake, ingest).command)
    shutil.copytree(lake, at["one"])
    few = [str(path) for path in sorted((journals / "played").iterdir())[: COMMITS - 1]]
    _run([sys.executable, "-c", SMALL_INGESTS, str(lake), *few])
    shutil.copytree(lake, at["many"])
    next(stages)
    shutil.rmtree(lake)
    shutil.copytree(at["one"], lake)
    _run(Trial("", lake, job).command)
    _run(Trial("", lake, ingest).command)
    shutil.copytree(lake, at["some"])
    shutil.rmtree(lake / "rebalances")
    shutil.copytree(lake, at["rows"])
    return (
        [
            Trial("first ingest", at["none"], ingest),
            Trial("ingest of more", at["one"], ingest),
            Trial("ingest, many before", at["many"], ingest),
        ],
        [Trial("rebalances", at["rows"], job), Trial("rebalances of more", at["some"], job)],
    )


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def tried(work: Path, seed: int, ingests: int, jobs: int, tell: Tell) -> Iterator[bool]:
    """All of it; was it right? One answer per chain of kills, per pair, per watch."""
    lake = work / "at" / "lake"
    lake.parent.mkdir(parents=True)
    ingest, job = made(work, lake)
    looking = [sys.executable, "-m", "tools.pipeline_proof.onlooker", str(lake)]
    dice = random.Random(seed)
    for trials, count, names in ((ingest, ingests, INGESTED), (job, jobs, (*INGESTED, "rebalances"))):
        with onlooker([*looking, *names]) as reader:
            harness = Harness(lake, reader, tell)
            for trial in trials:
                harness.learn(trial)
            yield from _killed(harness, trials, count, dice)
            for trial in trials:
                yield from _states(harness, trial, work / "states" / trial.name)
            for trial in trials:
                seen = harness.watched(trial)
                tell(f"{trial.name}: a reader sees, while it runs: {seen}")
                yield not any(each.startswith("NEITHER") for each in seen)
            for apart_s in APART_S:
                pair = harness.two(trials[-1], apart_s)
                tell(str(pair))
                yield pair.right


def _killed(harness: Harness, trials: list[Trial], count: int, dice: random.Random) -> Iterator[bool]:
    killed = turn = 0
    while killed < count:
        chain = harness.chain(trials[turn % len(trials)], dice, min(CHAIN, count - killed))
        turn += 1
        killed += len(chain.kills)
        if chain.kills:
            harness.tell(f"{killed} {chain}")
            yield chain.right


def _states(harness: Harness, trial: Trial, kept: Path) -> Iterator[bool]:
    """After every file event, without the cost of Java's start for each."""
    seen = list(harness.every_state(trial, kept))
    wrong = [each for each in seen if each[1] not in (BEFORE, AFTER) or each[2] != AFTER]
    first = next((name for name, left, _ in seen if left == AFTER), "none")
    harness.tell(f"{trial.name}: {len(seen)} states between file events, readers see what is new from {first} on; wrong: {wrong}")
    yield bool(seen) and not wrong
