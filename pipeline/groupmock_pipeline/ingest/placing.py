"""Into the lake whole or not at all.

Everything is written to a folder of its own under LAKE/_ingest. When all is there, one file, `moves.json`, says which folders go where:
with it the batch is decided. Then the folders are moved, each in one step, the ledger last. Who is killed before that file leaves what
the next ingest throws away; who is killed after it leaves moves that the next ingest makes first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Final

from ..storage import Storage

WORK: Final = "_ingest"
LOCK: Final = f"{WORK}/lock"
MOVES: Final = "moves.json"
Moves = list[tuple[str, str | None]]
"""(target, source): the target is replaced; without a source it is removed."""


def recover(storage: Storage) -> None:
    """Finish what was decided, throw away what was not."""
    for name, is_folder in storage.names(WORK):
        if is_folder and storage.exists(f"{WORK}/{name}/{MOVES}"):
            finish(storage, f"{WORK}/{name}")
        elif is_folder:
            storage.remove(f"{WORK}/{name}")


def folder(storage: Storage) -> str:
    """A new one for a batch."""
    path = f"{WORK}/batch-{os.getpid()}-{os.urandom(4).hex()}"
    storage.make(path)
    return path


def commit(storage: Storage, batch: str, moves: Moves) -> None:
    """Decide, and do it."""
    storage.write(f"{batch}/{MOVES}", json.dumps(moves))
    finish(storage, batch)


def finish(storage: Storage, batch: str) -> None:
    """Make the moves of a batch, some of which may have been made. Doing it twice is doing it once."""
    moves: Moves = json.loads(storage.read(f"{batch}/{MOVES}"))
    for target, source in moves:
        if source is None:
            storage.remove(target)
        elif storage.exists(source):
            storage.remove(target)
            storage.move(source, target)
    storage.remove(batch)


def plan(staged: Iterable[tuple[str, str]], dropped: Iterable[str], ledger: str) -> Moves:
    """Removals first, so that doing it again removes nothing that was put there; the ledger last."""
    put: Moves = [(target, source) for target, source in staged]
    targets = {target for target, _ in put}
    return [*((each, None) for each in sorted(set(dropped) - targets)), *put, ("runs", ledger)]
