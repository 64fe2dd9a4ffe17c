"""Run `python -m benchmarks`, which measures and prints one table. Exit status 0: every floor was met; 1: one was missed; 4: one was not
measured."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tools.records import save

from .bench import Bench, Figure, available
from .generators import Failed, Missing
from .machine import FOREIGN_LIMIT, Quiet, description
from .measurements import as_json, details, table
from .ratios import keep
from .targets import Verdict

EXIT = {Verdict.MISSED: 1, Verdict.UNKNOWN: 4}


def options(figures: dict[str, Figure]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=sorted(figures), help="measure this figure only; may be repeated")
    parser.add_argument("--quick", action="store_true", help="little work and one round: shows that it runs, not how fast")
    parser.add_argument("--large", action="store_true", help="also 10^7 rows through the pipeline: half an hour, 10 GB of disk")
    parser.add_argument("--repeat", type=int, metavar="N", help="rounds, each of fresh processes (5; 1 with --quick)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there too")
    parser.add_argument("--record", action="store_true", help="keep the medians for this commit, for docs/proof/speed.md (make docs)")
    parser.add_argument("--peer", action="append", default=[], choices=["kfake", "kafka"], help="measure this optional peer too")
    parser.add_argument("--impatient", action="store_true", help="do not wait for the machine to be quiet, nor repeat when it was not")
    return parser.parse_args()


def measure(bench: Bench, name: str, figure: Figure) -> None:
    """Measure one figure of the table. A target that cannot be measured becomes a row with the reason."""
    begin = time.monotonic()
    print(f"... {name}", file=sys.stderr, flush=True)
    try:
        figure.run(bench)
    except (Missing, Failed, OSError) as reason:
        bench.results.missing(figure.KEYS, str(reason).strip().splitlines()[-1][:100])
        bench.results.note(f"{name}: {reason}")
    print(f"... {name}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)


def report(bench: Bench, machine: dict[str, str]) -> None:
    """Print the table and, under it, the machine and the details."""
    print(table(bench.results))
    print(f"\n{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, Python {machine['python']}")
    if shares := bench.quiet.shares:
        loud = sum(share > FOREIGN_LIMIT for share in shares)
        mean = sum(shares) / len(shares)
        print(f"others used {mean:.0%} of a core on average while measuring; {loud} of {len(shares)} runs above {FOREIGN_LIMIT:.0%}")
    if bench.cores.shared:
        print("ONE core only: server and load fought for it, these ratios mean nothing")
    print(details(bench.results))
    for note in bench.results.notes:
        print(f"  note: {note}")


def main() -> int:
    figures = available()
    chosen = options(figures)
    patience = 0.0 if chosen.quick or chosen.impatient else 20.0
    repeat = chosen.repeat or (1 if chosen.quick else 5)
    bench = Bench(repeat=repeat, quick=chosen.quick, large=chosen.large, peers=frozenset(chosen.peer), quiet=Quiet(patience))
    machine = description() | {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    for name, figure in figures.items():
        if not chosen.only or name in chosen.only:
            measure(bench, name, figure)
    report(bench, machine)
    if chosen.json:
        save(chosen.json, as_json(bench.results, machine))
    if chosen.record:
        keep(bench.results, machine)
    return EXIT.get(bench.results.worst(), 0)


if __name__ == "__main__":
    sys.exit(main())
