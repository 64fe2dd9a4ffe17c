"""python -m tools.live [PART ...]: run tests that depend on load or chance, and write the report to build/live (text, JUnit XML, HTML).

The exit code is 0 whatever was found, because the report is read before a release and refuses nothing. 2: bad use.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from tools.runs import ROOT

from .parts import parts
from .report import as_html, as_junit, as_text
from .tries import TRIES, Case, tried

FORMS: Final = {"report.txt": as_text, "report.xml": as_junit, "report.html": as_html}


def main(arguments: list[str] | None = None) -> int:
    """Try the parts of `make live` one by one. The report is rewritten after every part."""
    known = {each.name: each for each in parts()}
    parser = argparse.ArgumentParser(prog="python -m tools.live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PART", help=f"these only, of {', '.join(known)}")
    parser.add_argument("--tries", type=int, default=TRIES, help="how often a case that fails is tried in all (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "live", metavar="FOLDER", help="where the report goes")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - set(known):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if asked.tries < 1:
        parser.error("--tries: at least 1")
    asked.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, list[Case]] = {}
    for name in asked.names or known:
        print(f"... {name}: {known[name].says}", flush=True)
        results[name] = tried(known[name], asked.tries, lambda told: print(told, flush=True))
        for file, form in FORMS.items():
            (asked.output / file).write_text(form(results), encoding="utf-8")
    print(as_text(results))
    print(f"the report: {asked.output}/report.html, report.xml, report.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
