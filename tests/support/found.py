"""Finds: what chance found, written down as a file that decides from then on (docs/proof/search.md).

A *property* has a name and takes a *case*: explicit values that JSON can say, so that a file means the same after the generator, or
hypothesis, has changed. Who draws cases (a test, a state machine) shows the property each one that is tried; when the test then fails, the
last one shown is the one that fails, because hypothesis runs its smallest failing example last.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

Case = dict[str, Any]
"""What a property is asked about. Where chance chose a sequence it stands under `steps`, one JSON value a step."""

FOLDER: Final = Path(__file__).resolve().parent.parent / "found"
"""Where finds decide."""
DIGITS: Final = 10
LONGEST_FAILURE: Final = 600


class Property:
    """Something that holds for every case. `holds` raises, whatever it likes, when it does not."""

    def __init__(self, name: str, holds: Callable[[Case], None]) -> None:
        self.name, self.holds = name, holds

    def shown(self, case: Case) -> Case:
        """Say what is tried next. Who tries it step by step goes on filling this very case."""
        SHOWN[:] = [Shown(self, case)]
        return case

    def check(self, case: Case) -> None:
        """Show the case and try it."""
        self.holds(self.shown(case))


class Shown(NamedTuple):
    """A case that was tried."""

    property: Property
    case: Case


SHOWN: Final[list[Shown]] = []
"""The last case that was tried since it was cleared, if any."""


class Unrepeated(Exception):
    """The case that was tried last holds when it is tried again: no file could decide by it."""


# -- writing ---------------------------------------------------------------------------------------------------------------------------


def write(folder: Path, shown: Shown, about: dict[str, Any]) -> Path:
    """The find as a file of `folder`, made small where nobody has yet. `about`: when, by which seed, in which version.

    The same find twice is one file. Raises Unrepeated.
    """
    case = json.loads(json.dumps(shown.case))
    failure = failure_of(shown.property, case)
    if failure is None:
        raise Unrepeated(f"{shown.property.name}: the case holds when it is tried again")
    case = smaller(shown.property, case, type(failure))
    text = json.dumps({"property": shown.property.name, "case": case}, sort_keys=True)
    file = folder / f"{shown.property.name}-{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}.json"
    if not file.exists():
        find = {"property": shown.property.name, "case": case, "failure": told(failure_of(shown.property, case) or failure), "found": about}
        save(file, json.dumps(find, indent=1) + "\n")
    return file


def save(file: Path, text: str) -> None:
    """Whole or not at all: several workers may find the same at once."""
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = file.with_name(f".{file.name}.{os.getpid()}")
    whole.write_text(text, encoding="utf-8")
    whole.replace(file)


def told(failure: BaseException) -> str:
    """The first lines of a failure."""
    return "".join(traceback.format_exception_only(failure)).strip()[:LONGEST_FAILURE]


def failure_of(asked: Property, case: Case) -> Exception | None:
    """What the property says of the case; None: it holds."""
    try:
        asked.holds(case)
    except Exception as failure:  # a judge's sentence, or whatever broke on the way to it
        return failure
    return None


def smaller(asked: Property, case: Case, kind: type[Exception]) -> Case:
    """The case with as few steps as still fail in that way: runs of steps are left out, shorter and shorter ones."""
    size = len(case.get("steps", ())) // 2
    while size:
        for fewer in _without_runs(case, size):
            if type(failure_of(asked, json.loads(json.dumps(fewer)))) is kind:
                case = fewer
                break
        else:
            size //= 2
    return case


def _without_runs(case: Case, size: int) -> Iterator[Case]:
    steps = case["steps"]
    for start in range(len(steps) - size, -1, -size):
        yield {**case, "steps": [*steps[:start], *steps[start + size :]]}


# -- reading ---------------------------------------------------------------------------------------------------------------------------


def replay(text: str, properties: dict[str, Property]) -> None:
    """Try the case of a find again; raises what the property raises, AssertionError where there is no such property."""
    find = json.loads(text)
    asked = properties.get(find["property"])
    assert asked is not None, f"no property is called {find['property']!r} any more: rename it in the file, or say why the find is void"
    asked.holds(find["case"])


# -- bytes in a case -------------------------------------------------------------------------------------------------------------------


def packed(data: bytes | None) -> str | None:
    """Base64; None stays None."""
    return None if data is None else base64.b64encode(data).decode()


def unpacked(text: str) -> bytes:
    """What `packed` made of bytes."""
    return base64.b64decode(text)
