"""Every command reads a journal with damaged lines: it reports each unreadable line, shows the rest, and raises no exception.

Case: `journal`: a name below tests/data/journals, of which the first `lines` are taken; `steps`: the damages, one after the other, each
[what, line, ...] with the line's number modulo their count: ["byte", line, place, byte], ["insert", line, place, byte], ["cut", line,
place], ["drop", line], ["twice", line], ["swap", line, other], ["value", line, nth, JSON text] (the nth JSON scalar of the line becomes
that text). `place` is modulo the line's length.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from found import Case, Property

from groupmock.cli import main

FOLDER: Final = Path(__file__).resolve().parents[2] / "data" / "journals"
SCALAR: Final = re.compile(rb'(?<=[:\[,])(?:-?\d[\d.eE+-]*|true|false|null|"(?:[^"\\]|\\.)*")(?=[,}\]])')
CODES: Final = (0, 1, 2, 4)


def _byte(lines: list[bytes], at: int, place: int, value: int) -> None:
    place %= len(lines[at])
    lines[at] = lines[at][:place] + bytes([value]) + lines[at][place + 1 :]


def _insert(lines: list[bytes], at: int, place: int, value: int) -> None:
    place %= len(lines[at])
    lines[at] = lines[at][:place] + bytes([value]) + lines[at][place:]


def _cut(lines: list[bytes], at: int, place: int) -> None:
    lines[at] = lines[at][: place % len(lines[at])] + b"\n"


def _drop(lines: list[bytes], at: int) -> None:
    if len(lines) > 1:
        del lines[at]


def _twice(lines: list[bytes], at: int) -> None:
    lines.insert(at, lines[at])


def _swap(lines: list[bytes], at: int, other: int) -> None:
    other %= len(lines)
    lines[at], lines[other] = lines[other], lines[at]


def _value(lines: list[bytes], at: int, nth: int, text: str) -> None:
    scalars = list(SCALAR.finditer(lines[at]))
    if scalars:
        found = scalars[nth % len(scalars)]
        lines[at] = lines[at][: found.start()] + text.encode() + lines[at][found.end() :]


STEPS: Final[dict[str, Callable[..., None]]] = {
    "byte": _byte, "insert": _insert, "cut": _cut, "drop": _drop, "twice": _twice, "swap": _swap, "value": _value,
}  # fmt: skip


@cache
def _journal(name: str) -> list[bytes]:
    return gzip.decompress((FOLDER / f"{name}.jsonl.gz").read_bytes()).splitlines(keepends=True)


def damaged(case: Case) -> bytes:
    """Return the bytes of the damaged journal."""
    lines = _journal(case["journal"])[: case["lines"]]
    for what, at, *more in case["steps"]:
        STEPS[what](lines, at % len(lines), *more)
    return b"".join(lines)


def _holds(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "dirty.jsonl"
        file.write_bytes(damaged(case))
        page = ["timeline", "-o", f"{folder}/page.html"]
        for words in (["story"], ["audit"], ["replay"], ["journal", "count"], ["journal", "find"], page):
            _reads([*words, str(file)])


def _reads(words: list[str]) -> None:
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code: Any = main(words)
    assert code in CODES, f"{words[0]} ended with {code}: {complained.getvalue()}"
    assert all(line.isprintable() for line in complained.getvalue().splitlines()), complained.getvalue()


DIRTY_JOURNALS = Property("dirty-journal", _holds)
