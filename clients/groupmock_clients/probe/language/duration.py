"""Compute the minimal duration of an exchange from its text, because users must agree before they wait that long for a real broker."""

from __future__ import annotations

from .exchange import Await, Exchange, Expectation, Pause, Raw, Send, Step
from .syntax import Literal


def least_ms(exchange: Exchange) -> int:
    """Return the sum of the exchange's pauses and silences, or its longest `after` if that is longer."""
    total, longest = 0, 0
    for step in exchange.steps:
        if isinstance(step, Pause) and isinstance(step.ms, Literal) and isinstance(step.ms.value, int):
            if step.since is None:
                total += step.ms.value
            else:
                longest = max(longest, step.ms.value)
        for expected in _expected(step):
            if expected.kind == "silence":
                total += expected.timing.lowest
            longest = max(longest, expected.timing.lowest)
    return max(total, longest)


def _expected(step: Step) -> list[Expectation]:
    if isinstance(step, Send | Raw | Await) and step.expects is not None:
        return list(step.expects.by_release.values())
    return []
