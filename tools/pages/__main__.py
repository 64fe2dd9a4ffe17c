"""python -m tools.pages [NAME ...]: write the pages that come from the program and from records, all or these, and say which changed."""

from __future__ import annotations

import argparse
import sys

from .table import PAGES, written


def main() -> int:
    """Always 0: the gate compares by git what was written."""
    parser = argparse.ArgumentParser(prog="python -m tools.pages", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *PAGES], metavar="NAME", help=", ".join(PAGES))
    for name in parser.parse_args().names or PAGES:
        print(f"{PAGES[name]}: {'written' if written(name) else 'unchanged'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
