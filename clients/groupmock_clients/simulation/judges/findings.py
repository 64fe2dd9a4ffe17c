"""The findings, and what all judges may know of the run."""

from __future__ import annotations

import msgspec

from groupmock_codec.units import NS_PER_MS


class Finding(msgspec.Struct, frozen=True):
    """Something that did not hold. `judge`: who saw it, and what is compared when a plan is made small; `step`: place in the plan's steps,
    or as many as there are for the end; `at_ms`: of the run."""

    judge: str
    text: str
    step: int
    at_ms: float


class Findings:
    """The first finding of a run ends it: what follows from a mistake is no second one. `now`: ns of the run, at the last entry."""

    def __init__(self) -> None:
        self.finding: Finding | None = None
        self.step = 0
        self.now = 0
        self.strange: set[int] = set()
        """Connections of strangers, who may say anything."""

    def found(self, judge: str, text: str) -> None:
        """Note that something is wrong."""
        if self.finding is None:
            self.finding = Finding(judge, text, self.step, self.now / NS_PER_MS)
