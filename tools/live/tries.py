"""What became of a case in up to three tries: ok, unstable, broken, missing, or skipped.

A case that failed is tried again, and only that one. What a busy machine did to it once it will hardly do three times; what is broken is
broken every time; and what is neither is unstable, which is worth a look and no reason to refuse anybody's change.
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
"""The ones to look at first."""
TRIES: Final = 3


@dataclass(frozen=True)
class Try:
    """One try of one case. `outcome`: PASSED, FAILED or SKIPPED; `seconds` of wall time; `text`: why it failed or was skipped."""

    outcome: str
    seconds: float
    text: str = ""


@dataclass
class Case:
    """A test, or a command that is one, and its tries so far."""

    name: str
    tries: list[Try] = field(default_factory=list)
    missing: str = ""
    """What the machine lacks to try it at all."""

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
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
        """All tries together."""
        return sum(each.seconds for each in self.tries)

    @property
    def text(self) -> str:
        """What is missing, else what the failed tries said, or why it was skipped."""
        told = [f"try {number}: {each.outcome}\n{each.text}".rstrip() for number, each in enumerate(self.tries, 1) if each.text]
        return self.missing or "\n\n".join(told)


class Part(Protocol):
    """Cases that are tried together: a folder of tests, or one command."""

    @property
    def name(self) -> str: ...
    @property
    def says(self) -> str:
        """What it is about, in a few words."""
        ...

    def lacks(self) -> str:
        """What the machine lacks to try it, in a sentence; empty where nothing is lacking."""
        ...

    def attempt(self, only: Collection[str] | None = None) -> dict[str, Try]:
        """Try these cases, all of them if None: name -> what became of it."""
        ...


def tried(part: Part, tries: int, tell: Callable[[str], object]) -> list[Case]:
    """Every case of a part: once, and those that fail up to `tries` times in all, until they pass. `tell` hears at once why one failed: of
    tries of half an hour each the report comes late."""
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
