"""The verdict on a case after up to three tries: ok, unstable, broken, missing, or skipped.

Only failed cases are tried again. A busy machine will hardly disturb a case three times, and a broken case fails every time. Anything in
between is unstable, which deserves a look but is no reason to refuse a change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final, Protocol

PASSED: Final = "passed"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"
OK: Final = "ok"
UNSTABLE: Final = "unstable"
BROKEN: Final = "broken"
MISSING: Final = "missing"
VERDICTS: Final = (BROKEN, UNSTABLE, MISSING, SKIPPED, OK)
"""The verdicts on a case, those first that a reader should look at first."""
TRIES: Final = 3


@dataclass(frozen=True)
class Try:
    """One try of one case: its outcome, duration and text. `outcome` is PASSED, FAILED or SKIPPED, `seconds` is wall time, `text` says
    why it failed or was skipped."""

    outcome: str
    seconds: float
    text: str = ""


@dataclass
class Case:
    """A test, or a command that counts as one, and its tries so far."""

    name: str
    tries: list[Try] = field(default_factory=list)
    missing: str = ""
    """Says what the machine lacks to try the case."""

    @property
    def verdict(self) -> str:
        """Return one of VERDICTS for all tries together."""
        outcomes = {each.outcome for each in self.tries}
        if self.missing:
            return MISSING
        if outcomes == {FAILED}:
            return BROKEN
        if FAILED in outcomes:
            return UNSTABLE
        return SKIPPED if outcomes == {SKIPPED} else OK

    @property
    def seconds(self) -> float:
        return sum(each.seconds for each in self.tries)

    @property
    def text(self) -> str:
        """Return what the machine lacks to try the case, else the output of the tries."""
        told = [f"try {number}: {each.outcome}\n{each.text}".rstrip() for number, each in enumerate(self.tries, 1) if each.text]
        return self.missing or "\n\n".join(told)


class Part(Protocol):
    """Cases that are tried together: a folder of tests, or one command."""

    @property
    def name(self) -> str: ...
    @property
    def says(self) -> str:
        """Return a few words that say what the part of `make live` runs."""
        ...

    def lacks(self) -> str:
        """Return a sentence about what this machine lacks for the part, or "" if it lacks nothing."""
        ...

    def attempt(self, only: Collection[str] | None = None) -> dict[str, Try]:
        """Try these cases of the part, or all if None. Returns name -> result."""
        ...


def tried(part: Part, tries: int, tell: Callable[[str], object]) -> list[Case]:
    """Try every case of a part once, and failed ones again until they pass or were tried `tries` times. `tell` gets each failure at
    once, because the report comes late if tries take half an hour."""
    if why := part.lacks():
        return [Case(part.name, missing=why)]
    cases: dict[str, Case] = {}
    only: list[str] | None = None
    for number in range(1, tries + 1):
        for name, each in part.attempt(only).items():
            cases.setdefault(name, Case(name)).tries.append(each)
            if each.outcome == FAILED:
                tell(f"{name}: try {number} failed\n{each.text}".rstrip())
        only = [name for name, case in cases.items() if case.tries[-1].outcome == FAILED]
        if not only:
            break
    return list(cases.values())
