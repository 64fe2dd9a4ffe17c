"""Where the file of a journal goes: its folder is made, a folder gets a file per run, what is there and is to stay makes way."""

from __future__ import annotations

import os
import re
from itertools import count
from typing import Final

NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9._+=-]+|^\.+")


def names_by_run(path: str) -> bool:
    """Does it mean a folder, where every run has a file of its own? It ends in a slash, or is one."""
    return path.endswith(os.sep) or os.path.isdir(path)


def placed(path: str, run: str) -> str:
    """The file to write. In a folder it is a new one, RUN.jsonl or the next of RUN-2.jsonl, RUN-3.jsonl ... that is not there, whoever else
    writes into it at that moment. Raises OSError, which says so if it is the folder that cannot be made."""
    if not names_by_run(path):
        make_folder(os.path.dirname(path))
        return path
    make_folder(path)
    stem = NOT_IN_A_NAME.sub("_", run)
    names = (os.path.join(path, f"{stem}.jsonl" if number == 1 else f"{stem}-{number}.jsonl") for number in count(1))
    return next(name for name in names if _made(name))


def _made(name: str) -> bool:
    """Was it made by us? Two runs that begin at the same moment never get the same file."""
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except FileExistsError:
        return False
    return True


def make_way(path: str) -> None:
    """The next journal has the same path: give the one that was closed another name, PATH.1 or the next that is free. In a folder each has
    its own already; a device has none to give."""
    if names_by_run(path) or not os.path.isfile(path):
        return
    number = next(number for number in count(1) if not os.path.exists(f"{path}.{number}"))
    os.replace(path, f"{path}.{number}")


def make_folder(folder: str) -> None:
    """With all above it; nothing to do for one that is there, or for none. Raises OSError, which says that it is about the folder."""
    if not folder:
        return
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as failure:
        raise type(failure)(failure.errno, f"its folder {folder} cannot be made: {failure.strerror}") from None
