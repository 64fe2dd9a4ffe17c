"""How one dialogue went: the verdict, and for a broken one what was sent, expected and seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

KEPT: Final = "kept"
BROKEN: Final = "broken"
UNKNOWN: Final = "unknown"
NOT_APPLICABLE: Final = "not applicable"
VERDICTS: Final = (KEPT, BROKEN, UNKNOWN, NOT_APPLICABLE)
"""Kept: everything expected was seen. Unknown: it could not be provoked on this broker, or the check itself failed. Not applicable: this
release or broker does not offer what it speaks of."""


@dataclass(frozen=True)
class Failure:
    """Where a dialogue broke. `step`: the line of it; `sent`: the request whose answer was judged; `problems`: a sentence each.

    `timing`: those of the problems that are about time alone; `off_ms`: how far out of bounds that time was."""

    place: str
    step: str
    sent: str
    expected: str
    seen: str
    problems: tuple[str, ...]
    timing: tuple[str, ...] = ()
    off_ms: float = 0


@dataclass
class DialogueOutcome:
    """`transcript`: every line that was played, and what was seen. `stretched`: how much longer than written it was played; `seconds`: what
    that took. `beyond`: no broker could show it to somebody outside, so it says nothing about this one. `asides`: row and
    sentence of what always holds (every_answer.py) and did not, where the exchange is about something else.
    `late_ms`: how late this machine and the broker were meanwhile, as far as that was measured;
    `fatal`: the broker died of it."""

    name: str
    rows: tuple[str, ...]
    verdict: str
    detail: str = ""
    transcript: list[str] = field(default_factory=list)
    failure: Failure | None = None
    attempts: int = 1
    stretched: float = 1
    seconds: float = 0
    beyond: bool = False
    asides: list[tuple[str, str]] = field(default_factory=list)
    late_ms: float = 0
    fatal: bool = False

    def __str__(self) -> str:
        lines = [f"{self.verdict:15} {self.name}" + (f": {self.detail}" if self.detail else "")]
        return "\n".join(lines + ([f"    {line}" for line in self.transcript] if self.verdict == BROKEN else []))


def again(before: DialogueOutcome, outcome: DialogueOutcome) -> DialogueOutcome:
    """The outcome of a further attempt at what was broken."""
    outcome.attempts = before.attempts + 1
    outcome.detail = outcome.detail or f"only at attempt {outcome.attempts}; before: {before.detail}"
    return outcome
