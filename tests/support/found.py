"""Stores failing cases of random tests as files that are tested from then on (docs/proof/search.md).

A *property* has a name and checks a *case*: explicit values in JSON, so that a file keeps its meaning when the generator or hypothesis
changes. A test or state machine that draws cases shows the property each one that is tried. When the test fails, the last case shown is the
failing one, because hypothesis runs its smallest failing example last.
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
"""A case: the values that a property checks. Its random sequence is under `steps`, one JSON value per step."""

FOLDER: Final = Path(__file__).resolve().parent.parent / "found"
"""Folder of the stored failing cases, which are tested in every run."""
DIGITS: Final = 10
LONGEST_FAILURE: Final = 600


class Property:
    """A statement about every case of a random test. `holds` raises any exception for a case that violates it."""

    def __init__(self, name: str, holds: Callable[[Case], None]) -> None:
        self.name, self.holds = name, holds

    def shown(self, case: Case) -> Case:
        """Announce the case that is tried next. A state machine adds steps to this case later."""
        SHOWN[:] = [Shown(self, case)]
        return case

    def check(self, case: Case) -> None:
        self.holds(self.shown(case))


class Shown(NamedTuple):
    """A case that was tried, and its property."""

    property: Property
    case: Case


SHOWN: Final[list[Shown]] = []
"""Contains the last case that was tried since the list was cleared, if any."""


class Unrepeated(Exception):
    """Raised when the last case holds on a second try, so that a file of it would be useless as a test."""


# -- Writing


def write(folder: Path, shown: Shown, about: dict[str, Any]) -> Path:
    """Write the last failing case into a file of `folder`, with as few steps as possible. `about` has date, seed and version. The same
    case always gets the same file. Raises Unrepeated."""
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
    """Write the file atomically, because several workers may find the same case at once."""
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = file.with_name(f".{file.name}.{os.getpid()}")
    whole.write_text(text, encoding="utf-8")
    whole.replace(file)


def told(failure: BaseException) -> str:
    return "".join(traceback.format_exception_only(failure)).strip()[:LONGEST_FAILURE]


def failure_of(asked: Property, case: Case) -> Exception | None:
    """Return the exception that the property raises for this case, or None."""
    try:
        asked.holds(case)
    except Exception as failure:  # Any exception counts as a failure, whether a check raised it or the code crashed before.
        return failure
    return None


def smaller(asked: Property, case: Case, kind: type[Exception]) -> Case:
    """Return the case with as few steps as possible that still fails in the same way. It leaves out shorter and shorter runs of steps."""
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


# -- Reading


def replay(text: str, properties: dict[str, Property]) -> None:
    """Try a stored case again. Raises the property's failure, or AssertionError if there is no such property."""
    find = json.loads(text)
    asked = properties.get(find["property"])
    assert asked is not None, f"no property is called {find['property']!r} any more: rename it in the file, or say why the find is void"
    asked.holds(find["case"])


# -- Bytes in a case


def packed(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def unpacked(text: str) -> bytes:
    """Decode the result of `packed`."""
    return base64.b64decode(text)
