"""Repeat the whole comparison with Kafka: start every release of Apache Kafka with every class of settings, and play every family on it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.fidelity.families import RELEASES
from tools.fidelity.generated.settings_classes import BROKERS, CLASSES, NODES
from tools.oracle import ORACLE
from tools.runs import ROOT

CROSSED: Final = ("migrations", "regexes", "lies")
"""The families that cross several areas, for releases with consumer groups."""
COUNTS: Final = {
    "4.4": {
        "groups": 2000, "log": 500, "transactions": 2000, "consumers": 3000, **dict.fromkeys(CROSSED, 1000), "shares": 3000, "moves": 500,
        "streams": 3000, "bytes": 2000,
    },
    "4.3": {
        "groups": 8000, "log": 2000, "transactions": 3000, "consumers": 5000, **dict.fromkeys(CROSSED, 500), "shares": 500, "moves": 100,
        "streams": 500, "bytes": 6000,
    },
}  # fmt: skip
"""Maps release and family to the number of seeds, with OTHERS for releases that are not listed."""
OTHERS: Final = {"groups": 1700, "log": 300, "transactions": 500, "bytes": 2000}
PARALLEL: Final = {
    "groups": 32, "log": 8, "transactions": 10, "consumers": 20, "migrations": 30, "regexes": 100, "lies": 30, "shares": 16, "moves": 8,
    "streams": 60,
}  # fmt: skip
"""The number of scripts of each family that are played at a time. Those that create topics of their own are expensive, and those
that wait most of their time are cheap."""
CLASSES_OF_GROUPS: Final = ("plain", "small")


DATA_PLANE: Final = {
    "auto.create.topics.enable": "false",
    "max.incremental.fetch.session.cache.slots": "100000",
    "broker.session.timeout.ms": "60000",
}
"""Settings that give every script a fetch session, because a full cache refuses new sessions, and that keep a slow broker from counting
as dead."""


SHORT_LOCKS: Final = {"group.share.min.record.lock.duration.ms": "1000", "group.share.max.share.sessions": "100000"}
"""Settings that allow the short locks of the class `shares` and a share session for every member."""


ONE_REPLICA: Final = dict.fromkeys(
    (
        "offsets.topic.replication.factor",
        "share.coordinator.state.topic.replication.factor",
        "transaction.state.log.replication.factor",
    ),
    "1",
)
"""Settings by which a single node has each internal partition, so that a script decides which one."""


class BrokerRun(NamedTuple):
    """A start of a broker and the families that are played on it."""

    release: str
    settings: str
    families: tuple[str, ...]


def runs(releases: list[str]) -> Iterator[BrokerRun]:
    """Yield the starts of brokers: one that creates no topics on demand for the log family and hostile inputs, and one for each class of
    settings."""
    for release in releases:
        for name in CLASSES_OF_GROUPS:
            yield BrokerRun(release, name, ("groups",))
        yield BrokerRun(release, "plain", ("log", "bytes"))
        yield BrokerRun(release, "quick", ("transactions",))
        if release in RELEASES["consumers"]:
            yield BrokerRun(release, "consumers", ("consumers",))
            yield BrokerRun(release, "crossed", CROSSED)
            yield BrokerRun(release, "shares", ("shares",))
            yield BrokerRun(release, "moves", ("moves",))
            yield BrokerRun(release, "streams", ("streams",))


def settings_of(run: BrokerRun) -> dict[str, str]:
    """Return the settings with which the run's broker is started."""
    return {
        **CLASSES[run.settings],
        **(DATA_PLANE if {"log", "transactions", "shares", "streams", "moves", *CROSSED} & {*run.families} else {}),
        **(SHORT_LOCKS if {"shares", "moves"} & {*run.families} else {}),
        **(ONE_REPLICA if run.settings in NODES else {}),
    }


def commands(run: BrokerRun, seed: int, share: float, log: Path | None) -> Iterator[list[str]]:
    """Yield the command lines that play families on the run's broker, one after another."""
    for family in run.families:
        count = max(1, int(COUNTS.get(run.release, OTHERS)[family] * share))
        where = ["--release", run.release, "--seeds", str(seed), str(seed + count)]
        logged = ["--log", str(log)] if log else []
        if family == "bytes":
            yield [sys.executable, "-m", "tools.fidelity", "bytes", *where, *logged]
        else:
            parallel = ["--parallel", str(PARALLEL[family])]
            yield [sys.executable, "-m", "tools.fidelity", "run", family, *where, *parallel, *logged]


def play(run: BrokerRun, seed: int, share: float, log: Path | None) -> int:
    """Start the broker, play everything on it, and return the worst exit code."""
    flags = [word for key, value in settings_of(run).items() for word in ("--set", f"{key}={value}")]
    worst = 0
    for command in commands(run, seed, share, log):
        print(f"== {run.release} {run.settings}: {' '.join(command[2:])}", flush=True)
        nodes = ["--nodes", str(NODES.get(run.settings, 1))]
        oracle = [sys.executable, str(ORACLE), "run", "--version", BROKERS[run.release], *nodes, *flags, "--"]
        worst = max(worst, subprocess.run([*oracle, *command], check=False, cwd=ROOT).returncode)
    return worst
