"""`python -m groupmock_clients.probe HOST:PORT`: play exchanges against any broker and report what is kept and what is broken."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from .exchange import RELEASES, Exchange, Variant
from .parser import load_folder
from .runner import Outcome, play_until_kept
from .syntax import ExchangeError
from .tcp_stage import NoBroker, TcpBroker, TcpStage
from .timing import least_ms


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all kept; 1: something is broken; 2: bad use; 3: no broker."""
    options = _options(arguments)
    try:
        exchanges = load_folder(options.exchanges)
    except ExchangeError as problem:
        return _complain(2, problem)
    if not exchanges:
        return _complain(2, f"{options.exchanges}: no .exchange files")
    try:
        with closing(_broker(options)) as broker:
            broker.settings |= dict(item.split("=", 1) for item in options.set)
            if "transactions" in options.allowed:
                broker.wait_for_transactions()
            outcomes = list(_all(exchanges, broker, options))
    except (NoBroker, OSError) as problem:
        return _complain(3, f"{options.broker[0]}:{options.broker[1]}: {problem}")
    return _report(outcomes, options.verbose)


def _broker(options: argparse.Namespace) -> TcpBroker:
    host, port = options.broker
    return TcpBroker(host, port, options.release, patience=options.patience)


def _complain(code: int, problem: object) -> int:
    print(problem, file=sys.stderr)  # noqa: T201  # a command's own output
    return code


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m groupmock_clients.probe", description=__doc__)
    parser.add_argument("broker", metavar="HOST:PORT", type=_address)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="exchanges or rows of that name (* allowed)")
    parser.add_argument("--release", choices=RELEASES, default=RELEASES[0], help="whose behaviour is expected")
    parser.add_argument("--with", dest="allowed", action="append", default=[], metavar="NEED", help="play also what needs this")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting that the broker does not tell itself")
    parser.add_argument("--longest", type=float, default=30, metavar="SECONDS", help="leave out what takes longer")
    parser.add_argument("--parallel", type=int, default=6, help="dialogues at a time")
    parser.add_argument("--patience", type=float, default=1.0, help="stretch the time bounds by this factor")
    parser.add_argument("--retries", type=int, default=1, help="how often a broken dialogue is played again before it counts")
    parser.add_argument("--exchanges", type=Path, default=Path("tests/exchanges"), metavar="FOLDER")
    parser.add_argument("--verbose", action="store_true", help="transcripts of kept exchanges too")
    return parser.parse_args(arguments)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit():
        raise argparse.ArgumentTypeError(f"HOST:PORT expected, not {text!r}")
    return host or "127.0.0.1", int(port)


def _all(exchanges: list[Exchange], broker: TcpBroker, options: argparse.Namespace) -> Iterator[Outcome]:
    chosen = [variant for each in exchanges if _wanted(each, options.only) for variant in each.variants()]
    with ThreadPoolExecutor(options.parallel) as pool:
        yield from pool.map(lambda variant: _one(variant, broker, options), chosen)


def _wanted(exchange: Exchange, only: list[str]) -> bool:
    return not only or any(fnmatch.fnmatch(name, pattern) for name in (exchange.name, *exchange.rows) for pattern in only)


def _one(variant: Variant, broker: TcpBroker, options: argparse.Namespace) -> Outcome:
    why = _left_out(variant, broker, options)
    if why is not None:
        return Outcome(variant.name, variant.exchange.rows, *why)
    return play_until_kept(variant, lambda attempt: TcpStage(broker, attempt), 1 + options.retries)


def _left_out(variant: Variant, broker: TcpBroker, options: argparse.Namespace) -> tuple[str, str] | None:
    exchange = variant.exchange
    if needs := [need for need in exchange.needs if need not in options.allowed]:
        return "needs", ", ".join(needs)
    if options.release not in exchange.releases:
        return "not applicable", f"holds for {' '.join(exchange.releases)}"
    if "tcp" not in exchange.stages:
        return "unknown", "can be provoked on the core stage only"
    for name, value in exchange.wanted_settings.items():
        if broker.settings.get(name) != value:
            return "unknown", f"needs {name}={value}, the broker has {broker.settings.get(name)}"
    if least_ms(exchange) > options.longest * 1000:
        return "unknown", f"takes at least {least_ms(exchange) / 1000:.0f} s (see --longest)"
    return None


def _report(outcomes: list[Outcome], verbose: bool) -> int:
    for outcome in outcomes:
        print(outcome)  # noqa: T201
        if verbose and outcome.verdict == "kept":
            print("\n".join(f"    {line}" for line in outcome.transcript))  # noqa: T201
    counts = Counter(outcome.verdict for outcome in outcomes)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))  # noqa: T201
    return 1 if counts["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
