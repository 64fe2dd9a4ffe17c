"""Writes the journals of a test farm: real runs on the virtual clock, repeated under other names and at other times.

`python -m benchmarks.journals FOLDER FILES ROWS` writes FILES files of ROWS rows each.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from groupmock.journal.rows import END, Header, NoteRow
from groupmock_clients.scenarios.catalogue import protocols, scenario
from groupmock_clients.scenarios.play import Sizes, play
from groupmock_clients.scenarios.virtual import open_stage

KINDS: Final = (("rolling-bounce", "design-1"), ("rolling-bounce", "range"), ("rolling-bounce", "cooperative-sticky"))
"""The scenario and the protocol of each run, which the runs take in turn."""
APART_NS: Final = 7 * 60 * 1_000_000_000
"""The time between the starts of two runs, which makes two hundred runs a day."""
PER_FOLDER: Final = 500
ONE_REBALANCE: Final = 40
"""The rows of a run of two members until shortly after the end of their first rebalance, while the second one begins after twice as
many."""


def template(name: str, protocol: str, rows: int, members: int = 8) -> tuple[Header, list[bytes]]:
    """Return the header and exactly this many lines of a real run. The last line is the note that ends a journal."""
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-journal-") as folder:
        file = Path(folder) / f"{name}-{protocol}.jsonl"
        chosen = protocols("virtual", protocol)[0]
        with open_stage(Sizes(members=members, partitions=members * 4), chosen, file) as stage:
            play(scenario(name), stage.sizes, chosen, stage)
        header, *lines = file.read_bytes().splitlines(keepends=True)
    if len(lines) < rows:
        return template(name, protocol, rows, members + 4)
    end = NoteRow(seq=rows, t=msgspec.json.decode(lines[rows - 1])["t"], what=END)
    return msgspec.json.decode(header, type=Header), [*lines[: rows - 1], msgspec.json.encode(end) + b"\n"]


def write(folder: Path, files: int, rows: int, members: int = 8, first: int = 0) -> int:
    """Fill the folder with journals and return the bytes written. Files with numbers below `first` are already there."""
    runs = [(f"{name}-{protocol}", *template(name, protocol, rows, members)) for name, protocol in KINDS]
    size = 0
    for number in range(first, files):
        name, header, lines = runs[number % len(runs)]
        renamed = msgspec.structs.replace(header, run=f"{name}-{number}", seed=number, epoch_ns=header.epoch_ns + number * APART_NS)
        file = folder / f"{number // PER_FOLDER:03}" / f"{number:06}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as out:
            out.write(msgspec.json.encode(renamed) + b"\n")
            out.writelines(islice(lines, rows))
        size += file.stat().st_size
    return size


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
