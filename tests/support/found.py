"""Finds: failing cases of random tests, stored as files that are tested ever after (docs/proof/search.md).

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
"""The values that a property checks. A random sequence stands under `steps`, one JSON value per step."""

FOLDER: Final = Path(__file__).resolve().parent.parent / "found"
"""The folder of the finds that are tested ever after."""
DIGITS: Final = 10
LONGEST_FAILURE: Final = 600


class Property:
    """A statement about every case. `holds` raises any exception for a case that violates it."""

    def __init__(self, name: str, holds: Callable[[Case], None]) -> None:
        self.name, self.holds = name, holds

    def shown(self, case: Case) -> Case:
        """Announce the case that is tried next. A state machine goes on adding steps to this very case."""
        SHOWN[:] = [Shown(self, case)]
        return case

    def check(self, case: Case) -> None:
        """Announce the case and try it."""
        self.holds(self.shown(case))


class Shown(NamedTuple):
    """A case that was tried, with its property."""

    property: Property
    case: Case


SHOWN: Final[list[Shown]] = []
"""The last case that was tried since the list was cleared, if any."""


class Unrepeated(Exception):
    """The last case holds when it is tried again, so a file of it would be no test."""


# -- Writing


def write(folder: Path, shown: Shown, about: dict[str, Any]) -> Path:
    """Write the find into a file of `folder`, with as few steps as possible. `about` has its date, seed and version.

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
    """Write the file as a whole, because several workers may find the same case at once."""
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = file.with_name(f".{file.name}.{os.getpid()}")
    whole.write_text(text, encoding="utf-8")
    whole.replace(file)


def told(failure: BaseException) -> str:
    """Return the first lines of a failure."""
    return "".join(traceback.format_exception_only(failure)).strip()[:LONGEST_FAILURE]


def failure_of(asked: Property, case: Case) -> Exception | None:
    """Return the failure of the property for this case; None if it holds."""
    try:
        asked.holds(case)
    except Exception as failure:  # any exception is a failure: a judge's sentence or a crash on the way to it
        return failure
    return None


def smaller(asked: Property, case: Case, kind: type[Exception]) -> Case:
    """Return the case with as few steps as still fail in the same way. It leaves out shorter and shorter runs of steps."""
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
    """Try the case of a find again. Raises the property's failure, or AssertionError if there is no such property."""
    find = json.loads(text)
    asked = properties.get(find["property"])
    assert asked is not None, f"no property is called {find['property']!r} any more: rename it in the file, or say why the find is void"
    asked.holds(find["case"])


# -- Bytes in a case


def packed(data: bytes | None) -> str | None:
    """Encode bytes in base64; None stays None."""
    return None if data is None else base64.b64encode(data).decode()


def unpacked(text: str) -> bytes:
    """Decode what `packed` made of bytes."""
    return base64.b64decode(text)
