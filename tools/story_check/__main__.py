"""Judge the stories of journals by their rows: python -m tools.story_check JOURNAL... [--all]

Prints each line that its journal contradicts, with the rows that do. Exit codes: 0 every line is true or unknown, 1 some line is false, 2 a
file is no journal.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from groupmock.journal.read import NotAJournal, read
from groupmock.journal.source import NoSuchJournal, journals

from .trial import story_of, tried


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.story_check", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("journals", metavar="JOURNAL", nargs="+", help="a file, a folder or a pattern")
    parser.add_argument("--all", action="store_true", help="print true and unknown claims too")
    arguments = parser.parse_args(words)
    counted: Counter[tuple[str, bool | None]] = Counter()
    try:
        for name in journals(arguments.journals):
            _, rows = read(name)
            verdicts = tried(rows, story_of(rows))
            counted.update((each.claim.kind, each.true) for each in verdicts)
            for each in verdicts:
                if each.true is False or arguments.all:
                    print(f"{name}: {each}")
    except (NotAJournal, NoSuchJournal, OSError) as wrong:
        print(f"story_check: {wrong}", file=sys.stderr)
        return 2
    for kind in sorted({kind for kind, _ in counted}):
        print(f"{kind:12} {counted[kind, True]:6} true {counted[kind, False]:6} false {counted[kind, None]:6} unknown")
    return 1 if any(true is False for _, true in counted) else 0


if __name__ == "__main__":
    sys.exit(main())
