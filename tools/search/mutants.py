"""Small mistakes planted in a copy of the core (tools/mutations.py), as many as fit into the time: which one does no judge see?"""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from .report import Part
from .suite import ROOT, Wanted

SECONDS_EACH: Final = 6
"""What a mutation takes on two cores."""


def search(wanted: Wanted) -> Part:
    """A sample by the search's seed; never the whole list, which would write docs/mutations.md."""
    part = Part("mutations")
    count = max(1, int(wanted.seconds / SECONDS_EACH))
    command = [sys.executable, "tools/mutations.py", "--sample", str(count), "--seed", str(wanted.seed)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=wanted.seconds * 3 + 300, check=False)
    except subprocess.TimeoutExpired:
        return part.failed(f"{' '.join(command[1:])}: no end")
    lines = done.stdout.splitlines()
    if not any(line.startswith(tuple("0123456789")) and "mutations in" in line for line in lines):
        return part.failed(done.stdout + done.stderr)
    part.did.append(f"{lines[-1]} ({' '.join(command[1:])})")
    for number, line in enumerate(lines):
        if line.startswith("  ! "):
            named = next(each for each in reversed(lines[:number]) if not each.startswith(" "))
            part.reds.append(f"{named.split()[0]}: {line.removeprefix('  ! ')}")
    return part
