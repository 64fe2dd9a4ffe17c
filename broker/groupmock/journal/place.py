"""Chooses the path of a journal file: makes its folder, gives each run a file of its own in a folder, and renames an existing file."""

from __future__ import annotations

import os
import re
from itertools import count
from typing import Final

NOT_IN_A_NAME: Final = r"[^A-Za-z0-9._+=-]+|^\.+"


def names_by_run(path: str) -> bool:
    """True if the path names a folder with one file for each run, because it ends in a slash or is a folder."""
    return path.endswith(os.sep) or os.path.isdir(path)


def placed(path: str, run: str) -> str:
    """Return the path of the file to write. In a folder it is the first unused of RUN.jsonl, RUN-2.jsonl, RUN-3.jsonl ..., even if other
    runs write there at the same moment. Raises OSError, which names the folder if that cannot be made."""
    if not names_by_run(path):
        make_folder(os.path.dirname(path))
        return path
    make_folder(path)
    stem = re.sub(NOT_IN_A_NAME, "_", run)
    names = (os.path.join(path, f"{stem}.jsonl" if number == 1 else f"{stem}-{number}.jsonl") for number in count(1))
    return next(name for name in names if _made(name))


def _made(name: str) -> bool:
    """Create a file without overwriting one of that name. Returns False if it exists, so that two runs that begin at the same moment
    never get the same file."""
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except FileExistsError:
        return False
    return True


def make_way(path: str) -> None:
    """Rename an existing journal to PATH.1 or the next unused name, because a new journal will be written to its path. In a folder
    nothing is renamed, because each run has its own file; a device cannot be renamed."""
    if names_by_run(path) or not os.path.isfile(path):
        return
    number = next(number for number in count(1) if not os.path.exists(f"{path}.{number}"))
    os.replace(path, f"{path}.{number}")


def make_folder(folder: str) -> None:
    """Make the folder and its missing parents. Raises OSError, which says that it is about the folder."""
    if not folder:
        return
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as failure:
        raise type(failure)(failure.errno, f"its folder {folder} cannot be made: {failure.strerror}") from None
