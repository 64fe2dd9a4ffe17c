"""Plays the planned dialogues against one broker, many at a time; what broke is played again when the others are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Final

from .broker import CannotProvide, NoBroker, TcpBroker
from .lag import Lag
from .outcome import BROKEN, UNKNOWN, Outcome, again
from .plan import Planned
from .runner import play
from .syntax import ExchangeError
from .tcp_stage import TcpStage
from .timing import least_ms

SPARE_SECONDS: Final = 60
"""What a dialogue may take beyond what it must; the steps themselves are bounded much closer."""
QUIET: Final = 4
"""How many dialogues at a time when something is played again."""
STRAINED_MS: Final = 60
"""A machine that wakes a thread so late is too busy to judge times on: such an attempt is one more, not one of the retries."""
FURTHER: Final = 2
"""How often more than asked for something is played again on such a machine."""


GONE: Final = "the broker is gone: it takes no connections any more"


@dataclass(frozen=True)
class Pace:
    """`parallel`: dialogues at a time; `retries`: how often a broken one is played again before it counts; `seconds`: for all of it."""

    parallel: int = 32
    retries: int = 2
    seconds: float = 900


class Session:
    """One run. `said`: called with every outcome as it comes."""

    def __init__(self, broker: TcpBroker, pace: Pace, said: Callable[[Outcome], None] = lambda outcome: None) -> None:
        self._broker, self._pace, self._said = broker, pace, said
        self._end = time.monotonic() + pace.seconds
        self._lag = Lag()

    def play(self, planned: Iterable[Planned]) -> list[Outcome]:
        """Every outcome, in the order of the plan."""
        order = list(planned)
        longest_first = sorted(range(len(order)), key=lambda index: -least_ms(order[index].variant.exchange))
        found = dict(zip(longest_first, self._round([order[index] for index in longest_first], 1, self._pace.parallel), strict=True))
        tries = dict.fromkeys(found, self._pace.retries)
        most = 1 + self._pace.retries + (FURTHER if self._pace.retries else 0)
        for attempt in range(2, most + 1):
            broken = [index for index, outcome in found.items() if outcome.verdict == BROKEN and tries[index] > 0]
            if not broken:
                break
            outcomes = self._round([order[index] for index in broken], attempt, QUIET)
            for index, outcome in zip(broken, outcomes, strict=True):
                tries[index] -= not outcome.strained
                if _counts(outcome):
                    found[index] = again(found[index], outcome)
        return [_judged(found[index]) for index in range(len(order))]

    def _round(self, planned: Sequence[Planned], attempt: int, parallel: int) -> list[Outcome]:
        with self._lag, ThreadPoolExecutor(parallel) as pool:
            futures = [pool.submit(self._one, each, attempt) for each in planned]
            self._tell(futures)
        return [future.result() for future in futures]

    def _tell(self, futures: Sequence[Future[Outcome]]) -> None:
        try:
            for future in as_completed(futures):
                self._said(future.result())
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def _one(self, planned: Planned, attempt: int) -> Outcome:
        """One dialogue at one attempt. Whatever goes wrong with the check itself is an unknown, never kept."""
        began = time.monotonic()
        exchange, name = planned.variant.exchange, planned.variant.name
        left = self._end - began
        needs = least_ms(exchange) / 1000
        if left < needs:
            return Outcome(name, exchange.rows, UNKNOWN, f"no time left of the {self._pace.seconds:.0f} s (see --time)")
        try:
            seconds = min(needs + SPARE_SECONDS, left)
            outcome = play(planned.variant, TcpStage(self._broker, min(attempt, 3), stretched=planned.factor, seconds=seconds), asides=True)
        except ExchangeError as mistake:
            outcome = Outcome(name, exchange.rows, UNKNOWN, f"a mistake in the exchange: {mistake}")
        except (NoBroker, CannotProvide) as why:
            gone = isinstance(why, NoBroker) and not self._broker.alive()
            outcome = Outcome(name, exchange.rows, UNKNOWN, GONE if gone else str(why))
        except Exception as crash:  # a check that fails itself says nothing about the broker
            outcome = Outcome(name, exchange.rows, UNKNOWN, f"the check failed: {type(crash).__name__}: {crash}")
        outcome.strained = self._lag.since(began) > STRAINED_MS
        outcome.stretched, outcome.seconds = planned.factor, time.monotonic() - began
        return outcome


def _judged(outcome: Outcome) -> Outcome:
    """What broke in a macro broke on the way to what the exchange is about: that says nothing about its rows."""
    if outcome.verdict == BROKEN and outcome.failure is not None and "(" in outcome.failure.place:
        return replace(outcome, verdict=UNKNOWN, detail=f"could not get that far: {outcome.detail}")
    if outcome.verdict == BROKEN and outcome.strained:
        return replace(outcome, detail=f"{outcome.detail} (seen on a busy machine alone)")
    return outcome


def _counts(outcome: Outcome) -> bool:
    """A further attempt that could not be played leaves the verdict as it was; but who is gone may have hung up on everybody."""
    return outcome.verdict != UNKNOWN or outcome.detail == GONE
