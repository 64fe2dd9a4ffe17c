"""Plant small mistakes in a copy of the core (tools/mutations), as many as fit into the time, and report those that no judge notices."""

from __future__ import annotations

import sys
from typing import Final

from tools.runs import ended

from .report import SearchPart
from .suite import SearchRequest

SECONDS_EACH: Final = 6
"""The seconds that judging one mutation takes on two cores."""


def search(wanted: SearchRequest) -> SearchPart:
    """Plant and judge a random sample of the mistakes, chosen by the search's seed. Never the whole list, because that would write
    docs/proof/mutations.md."""
    part = SearchPart("mutations")
    count = max(1, int(wanted.seconds / SECONDS_EACH))
    command = [sys.executable, "-m", "tools.mutations", "--sample", str(count), "--seed", str(wanted.seed)]
    done = ended(command, wanted.seconds * 3 + 300)
    lines = done.output.splitlines()
    if not any(line.startswith(tuple("0123456789")) and "mutations in" in line for line in lines):
        return part.failed(done.output)
    part.did.append(f"{lines[-1]} ({' '.join(command[1:])})")
    for number, line in enumerate(lines):
        if line.startswith("  ! "):
            named = next(each for each in reversed(lines[:number]) if not each.startswith(" "))
            part.reds.append(f"{named.split()[0]}: {line.removeprefix('  ! ')}")
    return part
