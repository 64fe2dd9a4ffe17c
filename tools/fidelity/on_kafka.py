"""The proof, run again: generated exchanges on real Apache Kafka and on the core, release by release, logged for docs/fidelity.md.

    python -m tools.fidelity.on_kafka --log docs/data/fidelity.jsonl            # 10,000 exchanges on 4.3.0, 2,000 each on 3.9.1 and 2.8.2
    python -m tools.fidelity.on_kafka --share 0.05 --release 4.3                # a twentieth of it on one release
    python -m tools.fidelity.on_kafka --peer HOST:PORT                          # the written exchanges on any broker: a page about it

Needs java and the developers' shared folder (GROUPMOCK_SHARED, else ../shared) unless a peer is judged. Exit code: that of the worst run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.fidelity.script.settings_classes import BROKERS, CLASSES

ROOT: Final = Path(__file__).resolve().parents[2]
ORACLE: Final = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
COUNTS: Final = {"4.3": {"groups": 8000, "log": 2000, "hostile": 6000}}
"""Seeds by family; what another release gets is OTHERS."""
OTHERS: Final = {"groups": 1700, "log": 300, "hostile": 2000}


DATA_PLANE: Final = {"auto.create.topics.enable": "false", "max.incremental.fetch.session.cache.slots": "100000"}
"""Room for the fetch sessions of every script: a full cache gives a new one no session."""


class BrokerRun(NamedTuple):
    """One start of a broker and what is played on it."""

    release: str
    settings: str
    families: tuple[str, ...]


def runs(releases: list[str]) -> Iterator[BrokerRun]:
    """The data plane's and the hostile inputs' broker does not make topics on demand; the groups' have their classes of settings."""
    for release in releases:
        for name in CLASSES:
            yield BrokerRun(release, name, ("groups",))
        yield BrokerRun(release, "plain", ("log", "hostile"))


def commands(run: BrokerRun, seed: int, share: float, log: Path | None) -> Iterator[list[str]]:
    """What plays on the run's broker, one after another."""
    for family in run.families:
        count = max(1, int(COUNTS.get(run.release, OTHERS)[family] * share))
        where = ["--release", run.release, "--seeds", str(seed), str(seed + count)]
        logged = ["--log", str(log)] if log else []
        if family == "hostile":
            yield [sys.executable, "-m", "tools.fidelity.compare.bytes_run", *where, *logged]
        else:
            parallel = ["--parallel", "8" if family == "log" else "32"]
            yield [sys.executable, "-m", "tools.fidelity", "run", family, *where, *parallel, *logged]


def play(run: BrokerRun, seed: int, share: float, log: Path | None) -> int:
    """Start the broker, play everything on it; the worst exit code."""
    sets = {**CLASSES[run.settings], **(DATA_PLANE if "log" in run.families else {})}
    flags = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    worst = 0
    for command in commands(run, seed, share, log):
        print(f"== {run.release} {run.settings}: {' '.join(command[2:])}", flush=True)
        oracle = [sys.executable, str(ORACLE), "run", "--version", BROKERS[run.release], *flags, "--"]
        worst = max(worst, subprocess.run([*oracle, *command], check=False, cwd=ROOT).returncode)
    return worst


def judge(peer: str) -> int:
    """A page about any broker: the written exchanges, played on it as on Kafka."""
    page = ROOT / "build" / f"fidelity-{peer.replace(':', '-')}.html"
    page.parent.mkdir(exist_ok=True)
    done = subprocess.run([sys.executable, "-m", "groupmock", "probe", peer, "--report", "html", "--output", str(page)], check=False)
    if page.exists():
        print(f"{page.relative_to(ROOT)} says what {peer} keeps and breaks")
    return done.returncode


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="append", choices=sorted(BROKERS), help="only these")
    parser.add_argument("--share", type=float, default=1.0, help="of the full numbers")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="first seed (default: the time)")
    parser.add_argument("--log", type=Path, help="append the results as lines of JSON")
    parser.add_argument("--peer", help="judge this broker instead")
    asked = parser.parse_args()
    if asked.peer:
        return judge(asked.peer)
    if not ORACLE.is_file():
        parser.error(f"there is no {ORACLE}, which starts Kafka: set GROUPMOCK_SHARED to the developers' shared folder, or name a --peer")
    releases = asked.release or list(BROKERS)
    log = asked.log.resolve() if asked.log else None
    return max(play(run, asked.seed, asked.share, log) for run in runs(releases))


if __name__ == "__main__":
    sys.exit(main())
