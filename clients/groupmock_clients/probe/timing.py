"""How long an exchange takes at least, from its text: so that a real broker need not be waited for unasked."""

from __future__ import annotations

from .exchange import Exchange, Pause
from .syntax import Literal


def least_ms(exchange: Exchange) -> int:
    """Sum of its pauses and silences, or its longest `after` where that is longer."""
    total, longest = 0, 0
    for step in exchange.steps:
        if isinstance(step, Pause) and isinstance(step.ms, Literal) and isinstance(step.ms.value, int):
            total += step.ms.value
        for expected in getattr(step, "expects", None).by_release.values() if getattr(step, "expects", None) else ():
            if expected.kind == "silence":
                total += expected.timing.lowest
            longest = max(longest, expected.timing.lowest)
    return max(total, longest)
