"""Record the findings of the judges, and share the state that all judges need."""

from __future__ import annotations

import msgspec

from groupmock_codec.units import NS_PER_MS


class Finding(msgspec.Struct, frozen=True):
    """A violation of the protocol that a judge has found. `judge`: who saw it, and what is compared when a plan is made small; `step`:
    place in the plan's steps, or as many as there are for the end; `at_ms`: of the run."""

    judge: str
    text: str
    step: int
    at_ms: float


class Findings:
    """Keeps the first finding only, because later ones may follow from the same mistake. `now`: ns of the run, at the last entry."""

    def __init__(self) -> None:
        self.finding: Finding | None = None
        self.step = 0
        self.now = 0
        self.strange: set[int] = set()
        """The connections of hostile peers, which may send anything."""

    def found(self, judge: str, text: str) -> None:
        """Record a finding, unless there is one already."""
        if self.finding is None:
            self.finding = Finding(judge, text, self.step, self.now / NS_PER_MS)
