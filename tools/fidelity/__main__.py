"""Play generated exchanges on a broker and compare its answers with groupmock's core (python -m tools.fidelity).

The broker is --broker HOST:PORT or $KAFKA_BOOTSTRAP; it needs the settings of a class (settings_classes.py), for instance

    kafka.py run --version 4.3.0 --set group.initial.rebalance.delay.ms=400 --set group.min.session.timeout.ms=100 -- \\
        python -m tools.fidelity run groups --release 4.3 --seeds 0 2000

`kafka` starts the brokers itself: 20,100 exchanges on 4.3.0, 14,000 on 4.4.0, 2,500 on 3.9.1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from groupmock_clients.probe.stages.tcp_broker import NoBroker
from tools.oracle import ORACLE

from . import on_kafka
from .compare.bytes_run import BytesRun, last_request, record
from .compare.counts import FamilyResult
from .compare.exchange_run import ComparisonRequest, ExchangeRun
from .compare.golden import PLAYED_ON_CORE, choose, load, replay_corpus, save, save_one
from .compare.speed import measure
from .families import FILES, family
from .generated.exchange_text import as_text
from .generated.script import Script
from .generated.settings_classes import BROKERS
from .guided.core_player import play as play_on_core
from .guided.peer import Peer, parse_address

PRINTED_STEP_MS = 20.0
"""A step of a printed exchange takes this time, because a real broker must handle a request that is not awaited before the next member
sends."""


def main(words: list[str] | None = None) -> int:
    """Return 0 if all answers were equal, 1 if something differed, 2 for wrong usage or if nothing was played, and 3 without a broker."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.fidelity", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    _add_kafka(verbs.add_parser("kafka", help="play everything on every release of Apache Kafka, started for it (java needed)"))
    _add_run(verbs.add_parser("run", help="play seeds and compare"))
    _add_bytes(verbs.add_parser("bytes", help="play hostile inputs and compare"))
    _add_record(verbs.add_parser("record", help="record golden plays from a real broker"))
    _add_replay(verbs.add_parser("replay", help="play golden plays again on the core"))
    _add_speed(verbs.add_parser("speed", help="how fast the pure core plays and compares with itself"))
    _add_show(verbs.add_parser("show", help="print a seed's exchange as text"))
    _add_shrink(verbs.add_parser("shrink", help="the shortest exchange that still differs"))
    asked = parser.parse_args(words)
    try:
        code: int = asked.verb(asked)
    except NoBroker as problem:
        return _complain(3, f"no broker: {problem}")
    except NothingPlayed as problem:
        return _complain(2, f"nothing was played: {problem}")
    return code


class NothingPlayed(Exception):
    """Nothing was played, so the run proves nothing."""


def _complain(code: int, problem: str) -> int:
    print(problem, file=sys.stderr)
    return code


def _common(parser: argparse.ArgumentParser, families: Iterable[str] = PLAYED_ON_CORE) -> None:
    parser.add_argument("family", choices=sorted(families))
    parser.add_argument("--release", choices=tuple(BROKERS), default="4.3")


def _broker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--broker", type=_address, default=os.environ.get("KAFKA_BOOTSTRAP"), metavar="HOST:PORT")


def _address(text: str) -> tuple[str, int]:
    try:
        return parse_address(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number above 0 expected, not {text!r}")
    return int(text)


def _seeds(asked: argparse.Namespace) -> tuple[int, int]:
    first, last = asked.seeds
    if first >= last:
        raise NothingPlayed(f"--seeds {first} {last}: TO is exclusive and must be above FROM")
    return first, last


def _where(asked: argparse.Namespace) -> tuple[str, int]:
    if not asked.broker:
        raise NoBroker("name one with --broker or in $KAFKA_BOOTSTRAP")
    host, port = asked.broker
    return host, port


def _peer(asked: argparse.Namespace) -> Peer:
    return Peer(*_where(asked), asked.release)


def _add_kafka(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--release", action="append", choices=sorted(BROKERS), help="only these")
    parser.add_argument("--share", type=float, default=1.0, help="of the full numbers")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="first seed (default: the time)")
    parser.add_argument("--log", type=Path, help="append the results as lines of JSON")
    parser.set_defaults(verb=_kafka)


def _kafka(asked: argparse.Namespace) -> int:
    """Play on Apache Kafka and return the exit code of the worst run."""
    if not ORACLE.is_file():
        raise NothingPlayed(f"there is no {ORACLE}, which starts Kafka: set GROUPMOCK_SHARED to the developers' shared folder")
    log = asked.log.resolve() if asked.log else None
    return max(on_kafka.play(run, asked.seed, asked.share, log) for run in on_kafka.runs(asked.release or list(BROKERS)))


def _add_run(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    _broker(parser)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1000), metavar=("FROM", "TO"))
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--parallel", type=_count, default=40)
    parser.add_argument("--shrink", action="store_true", help="shrink what differs and print it")
    parser.add_argument("--log", type=Path, help="append the result to this file as one line of JSON")
    parser.add_argument("--finds", type=Path, metavar="FOLDER", help="write plays that differ as golden plays, one for each API and field")
    parser.set_defaults(verb=_run)


def _run(asked: argparse.Namespace) -> int:
    wanted = ComparisonRequest(asked.family, asked.release, _seeds(asked), asked.parallel, asked.seconds, asked.shrink)
    with _peer(asked) as peer:
        run = ExchangeRun(peer, wanted, sys.stdout)
        result = run.all()
    for play in run.different.values() if asked.finds else ():
        print(f"find: {save_one(asked.finds, play)}")
    _logged(asked, result)
    summary = {**msgspec.to_builtins(result), "differences": len(result.differences)}
    for name in ("apis", "outcomes"):
        for api, cells in summary.pop(name).items():
            print(f"{name} {api}: {' '.join(f'{cell}={count}' for cell, count in cells.items())}")
    print(" ".join(f"{name}={value}" for name, value in summary.items()))
    if not result.exchanges:
        raise NothingPlayed(f"no seed of these is for a broker of the settings {result.settings!r}, or the machine was too slow for all")
    return 1 if result.differences else 0


def _add_bytes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--release", choices=tuple(BROKERS), default="4.3")
    _broker(parser)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 4000), metavar=("FROM", "TO"))
    parser.add_argument("--parallel", type=_count, default=30)
    parser.add_argument("--log", type=Path, help="append the result to this file as one line of JSON")
    parser.add_argument("--record", action="store_true", help="keep inputs in tests/golden, numbers in tools/records")
    parser.set_defaults(verb=_bytes)


def _bytes(asked: argparse.Namespace) -> int:
    seeds = _seeds(asked)
    run = BytesRun(asked.release, *_where(asked), asked.parallel)
    result = run.all(*seeds)
    for each in run.differing:
        print(f"DIFFERS: seed {each.seed}: {each.case.name} {last_request(each.case.writes)}\n  Kafka {each.real}\n  ours  {each.ours}")
    _logged(asked, result)
    if asked.record:
        record(run, seeds)
    print(
        f"{asked.release}: {result.exchanges} inputs, {len(result.differences)} differ, unstable {result.unstable}, "
        f"recorded {result.recorded}, {result.per_second} a second"
    )
    return 1 if result.differences else 0


def _logged(asked: argparse.Namespace, result: FamilyResult) -> None:
    if asked.log:
        with asked.log.open("ab") as log:
            log.write(msgspec.json.encode(result) + b"\n")


def _add_record(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    _broker(parser)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1500), metavar=("FROM", "TO"))
    parser.add_argument("--parallel", type=_count, default=20)
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--count", type=_count, default=400, help="how many plays to keep")
    parser.add_argument("--folder", type=Path, default=Path("tests/golden"))
    parser.set_defaults(verb=_record)


def _record(asked: argparse.Namespace) -> int:
    wanted = ComparisonRequest(asked.family, asked.release, _seeds(asked), asked.parallel, asked.seconds, keep=True)
    with _peer(asked) as peer:
        run = ExchangeRun(peer, wanted, sys.stdout)
        result = run.all()
    chosen = choose(run.golden, asked.count)
    if not chosen:
        print("nothing worth keeping")
        return 1
    file = save(asked.folder, chosen)
    print(f"{file}: {len(chosen)} of {len(run.golden)} plays, {file.stat().st_size} bytes")
    return 1 if result.differences else 0


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", default=Path("tests/golden"))
    parser.add_argument("--release", choices=tuple(BROKERS), action="append")
    parser.set_defaults(verb=_replay)


def _replay(asked: argparse.Namespace) -> int:
    releases = asked.release or list(BROKERS)
    empty = [release for release in releases if not any(True for family in PLAYED_ON_CORE for _ in load(asked.folder, release, family))]
    if empty:
        raise NothingPlayed(f"no golden plays of {', '.join(empty)} in {asked.folder}")
    found = [(release, each) for release in releases for each in replay_corpus(asked.folder, release)]
    for release, difference in found:
        print(f"{release} seed {difference.seed}: {difference}")
    return 1 if found else 0


def _add_speed(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 2000), metavar=("FROM", "TO"))
    parser.add_argument("--processes", type=_count, default=2)
    parser.set_defaults(verb=_speed)


def _speed(asked: argparse.Namespace) -> int:
    found = measure(asked.family, asked.release, _seeds(asked), asked.processes)
    print(" ".join(f"{name}={value}" for name, value in msgspec.to_builtins(found).items()))
    return 1 if found.differences else 0


def _script(asked: argparse.Namespace) -> Script:
    try:
        return family(asked.family)(asked.seed, asked.release)
    except LookupError as problem:
        raise NothingPlayed(str(problem)) from None


def _add_show(parser: argparse.ArgumentParser) -> None:
    _common(parser, FILES)
    parser.add_argument("seed", type=int)
    parser.set_defaults(verb=_show)


def _show(asked: argparse.Namespace) -> int:
    script = _script(asked)
    print(as_text(script, play_on_core(script, step_ms=PRINTED_STEP_MS) if asked.family in PLAYED_ON_CORE else None))
    return 0


def _add_shrink(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    _broker(parser)
    parser.add_argument("seed", type=int)
    parser.set_defaults(verb=_shrink)


def _shrink(asked: argparse.Namespace) -> int:
    _script(asked)
    wanted = ComparisonRequest(asked.family, asked.release, (asked.seed, asked.seed + 1), shrink=True)
    with _peer(asked) as peer:
        result = ExchangeRun(peer, wanted, sys.stdout).all()
    return 1 if result.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
