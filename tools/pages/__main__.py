"""python -m tools.pages [NAME ...]: write the pages that come from the program and from records, all or these; says which changed."""

from __future__ import annotations

import argparse
import sys

from .all_pages import PAGES, outdated, written


def main() -> int:
    """Write the pages that have changed; the gate compares them by git. Returns 1 if the record of a page is older than its rules."""
    parser = argparse.ArgumentParser(prog="python -m tools.pages", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PAGES))
    names = parser.parse_args().names
    if unknown := set(names) - set(PAGES):
        parser.error(f"no page {', '.join(sorted(unknown))}: there are {', '.join(PAGES)}")
    found: list[str] = []
    for name in names or PAGES:
        print(f"{PAGES[name]}: {'written' if written(name) else 'unchanged'}")
        found += [f"{PAGES[name]}: {sentence}" for sentence in outdated(name)]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
