"""The outcome of one dialogue: a verdict, and for a broken one what was sent, expected and seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

KEPT: Final = "kept"
BROKEN: Final = "broken"
MAY_BE_RELEASE: Final = "may be the release"
UNKNOWN: Final = "unknown"
NOT_APPLICABLE: Final = "not applicable"
VERDICTS: Final = (KEPT, BROKEN, MAY_BE_RELEASE, UNKNOWN, NOT_APPLICABLE)
"""The verdicts of an exchange. Kept: everything expected was seen. May be the release: something else was seen, on a broker that is newer
than every release that the probe knows. Unknown: it could not be provoked on this broker, or the check itself failed. Not applicable: this
release or broker does not offer what the dialogue needs."""


@dataclass(frozen=True)
class Failure:
    """The place and the circumstances in which a dialogue broke. `step` is its line, `sent` the request whose answer was judged, `problems`
    has a sentence each.

    `timing` lists the problems that concern time alone, and `off_ms` says by how much the time was out of bounds.
    """

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
    """The outcome of one dialogue.

    `transcript` has every line played and what was seen. `stretched` is the slowness compared with the text and `seconds` the duration.
    `beyond` marks a dialogue that no broker can show to a client, so it says nothing about this broker. `asides` are row and sentence of
    broken expectations of every_answer.py that belong to other rows. `late_ms` is the measured lateness of machine and broker. `fatal` says
    that the broker died of the dialogue.
    """

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
    """Combine the outcome of a repeated attempt with the previous outcome."""
    outcome.attempts = before.attempts + 1
    outcome.detail = outcome.detail or f"only at attempt {outcome.attempts}; before: {before.detail}"
    return outcome
