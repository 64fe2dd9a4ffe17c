"""Decide whether load can explain a failure, by asking whether the pure core shows the same failure when a step is late.

A busy machine sends late, reads late, or delays the broker. Times that are off by no more than the measured lateness prove nothing. Answers
may differ too, because sessions expire and rebalances end meanwhile. To find out which, the core plays the dialogue with a stall of the
measured size before each of its turns. A failure that the core never shows cannot be explained by delay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from groupmock_codec.declare import Message

from ..language.duration import least_ms
from ..language.exchange import Variant
from ..stages.contract import Answer, Tolerance
from ..stages.core_stage import CoreStage
from .outcome import BROKEN, KEPT, DialogueOutcome, Failure
from .runner import play

STRAINED_MS: Final = 60
"""The least lateness in ms that can explain a failure, because clients would see a broker with less lateness as late too."""
PARTS: Final = (1.0, 0.5, 0.25)
"""The shares of the measured lateness that are tried, because the measurement is a maximum or a sum."""
FOR_A_RUN: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"groupmock-probe-[\w-]+|\bg-[0-9a-f]{10}\b"), "<name>"),
    (re.compile(r"\d+ ms"), "<time>"),
    (re.compile(r"(no answer expected yet|an answer came): .*?(error_code: -?\d+).*", re.DOTALL), r"\1: \2"),
)
"""Matches texts that differ between runs: ids, names, times, and the rest of an answer that should not have come."""


@dataclass(frozen=True)
class Conditions:
    """The conditions of a dialogue: the assumed release, the broker's settings, the time bounds of its stage."""

    release: str
    settings: Mapping[str, str]
    tolerance: Tolerance


class _Stalled(CoreStage):
    """A core stage that stalls for `ms` at its turn number `at` (from 1), or if `at` is 0 for an equal share at each of `turns`."""

    def __init__(self, conditions: Conditions, ms: float, at: int, turns: int = 0) -> None:
        super().__init__(conditions.release, conditions.settings)
        self.tolerance = conditions.tolerance
        self.turns = 0
        self._ms, self._at = (ms, at) if at else (ms / max(turns, 1), 0)

    def _turn(self) -> None:
        self.turns += 1
        if self._at in (0, self.turns):
            super().pause(self._ms)

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        self._turn()
        super().send(member, key, version, client_id, message)

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        self._turn()
        return super().answer(member, limit_ms)

    def pause(self, ms: float) -> None:
        self._turn()
        super().pause(ms)

    def hang_up(self, member: str, how: str) -> None:
        self._turn()
        super().hang_up(member, how)


def explains(load_ms: float, failure: Failure, variant: Variant, conditions: Conditions) -> bool:
    """Tell whether so much lateness can explain the whole failure."""
    if load_ms < STRAINED_MS:
        return False
    rest = [each for each in failure.problems if each not in failure.timing or failure.off_ms > load_ms]
    return not rest or _shown(load_ms, failure.place, {_sign(each) for each in rest}, variant, conditions)


def _shown(load_ms: float, place: str, signs: set[str], variant: Variant, conditions: Conditions) -> bool:
    """Tell whether the core shows the same failure if it stalls, and does not show the failure otherwise. If the core cannot decide (raw
    bytes, settings under which it breaks the dialogue anyway), load is assumed to explain a dialogue that depends on time."""
    prompt = _Stalled(conditions, 0, 0)
    without = play(variant, prompt) if "core" in variant.exchange.stages else None
    if without is None or without.verdict != KEPT:
        return least_ms(variant.exchange) > 0 and not (without is not None and _shows(without, place, signs))
    return any(_shows(play(variant, stage), place, signs) for stage in _stages(load_ms, prompt.turns, conditions))


def _shows(outcome: DialogueOutcome, place: str, signs: set[str]) -> bool:
    failure = outcome.failure
    return outcome.verdict == BROKEN and failure is not None and failure.place == place and signs <= set(map(_sign, failure.problems))


def _stages(load_ms: float, turns: int, conditions: Conditions) -> Iterator[_Stalled]:
    for part in PARTS:
        yield _Stalled(conditions, load_ms * part, 0, turns)
        for at in range(1, turns + 1):
            yield _Stalled(conditions, load_ms * part, at)


def _sign(problem: str) -> str:
    for pattern, instead in FOR_A_RUN:
        problem = pattern.sub(instead, problem)
    return problem
