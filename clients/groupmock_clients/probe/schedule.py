"""Plays the planned dialogues against one broker, many at a time; what broke is played again when the others are done.

A server that dies is waited for. If several dialogues were under way, each of them is played alone when it is back: so the one that kills
it is told from those that were there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Final

from .language.duration import least_ms
from .language.syntax import ExchangeError
from .stages.lateness import AnswerLateness, WakeLateness
from .stages.liveness import Death, Liveness
from .stages.restart import Restart
from .stages.tcp_broker import CannotProvide, NoBroker, TcpBroker
from .stages.tcp_stage import TcpStage, tolerance
from .verdicts.explained_by_load import Conditions, explains
from .verdicts.outcome import BROKEN, KEPT, UNKNOWN, DialogueOutcome, Failure, again
from .verdicts.playable import known_settings
from .verdicts.runner import play
from .verdicts.selection import Planned

SPARE_SECONDS: Final = 60
"""What a dialogue may take beyond what it must; the steps themselves are bounded much closer."""
QUIET: Final = 4
"""How many dialogues at a time when something is played again."""
FURTHER: Final = 2
"""How often more than asked for something is played again where load can explain what broke: such an attempt is none of the retries."""
MOST_DEATHS: Final = 20
"""A server that dies more often is given up."""
GONE: Final = "the broker is gone: it takes no connections any more"
DIED: Final = "the server stopped answering during this dialogue"


@dataclass(frozen=True)
class Pace:
    """`parallel`: dialogues at a time; `retries`: how often a broken one is played again before it counts; `seconds`: for all of it;
    `wait`: how long a server that died may take to come back; `restart`: the command (its words) that starts it again, if we are to."""

    parallel: int = 32
    retries: int = 2
    seconds: float = 900
    wait: float = 30
    restart: tuple[str, ...] = ()


@dataclass
class _Attempts:
    """What came of one dialogue until now. `broken`: the attempts that broke and are not weighed yet; `evidence`: how often it broke in a
    way that load cannot explain; `excused`: how often in one that it can; `late_ms`: the worst load at those."""

    outcome: DialogueOutcome
    broken: list[DialogueOutcome] = field(default_factory=list)
    evidence: int = 0
    excused: int = 0
    late_ms: float = 0

    def __post_init__(self) -> None:
        self.add(self.outcome)

    def add(self, outcome: DialogueOutcome) -> None:
        """One more attempt."""
        self.outcome = outcome
        if outcome.verdict == BROKEN and not outcome.fatal:
            self.broken.append(outcome)

    def weigh(self, explained: Callable[[DialogueOutcome], bool]) -> None:
        """Can load explain what broke? Asked when the answer matters: it takes as many plays on the core as a dialogue has turns."""
        for outcome in self.broken:
            if explained(outcome):
                self.excused, self.late_ms = self.excused + 1, max(self.late_ms, outcome.late_ms)
            else:
                self.evidence += 1
        self.broken.clear()


class Schedule:
    """One run. `said`: called with every outcome as it comes; `deaths`: how often the server went away, and what is known of it."""

    def __init__(self, broker: TcpBroker, pace: Pace, said: Callable[[DialogueOutcome], None] = lambda outcome: None) -> None:
        self._broker, self._pace, self._said = broker, pace, said
        self._end = time.monotonic() + pace.seconds
        self._waking, self._answering = WakeLateness(), AnswerLateness(broker.host, broker.port)
        self._liveness = Liveness(broker.alive)
        self._restart = Restart(broker, pace.restart, pace.wait)
        self.deaths: list[Death] = []

    def close(self) -> None:
        """End what was started."""
        self._restart.close()

    def play(self, planned: Iterable[Planned]) -> list[DialogueOutcome]:
        """Every outcome, in the order of the plan."""
        order = list(planned)
        longest_first = sorted(range(len(order)), key=lambda index: -least_ms(order[index].variant.exchange))
        first = self._round([order[index] for index in longest_first], 1, self._pace.parallel)
        found = {index: _Attempts(outcome) for index, outcome in zip(longest_first, first, strict=True)}
        for attempt in range(2, 2 + self._pace.retries + (FURTHER if self._pace.retries else 0)):
            broken = [index for index, each in found.items() if self._worth_another(each, order[index])]
            if not broken:
                break
            for index, outcome in zip(broken, self._round([order[index] for index in broken], attempt, QUIET), strict=True):
                if _counts(outcome):
                    found[index].add(again(found[index].outcome, outcome))
        return [self._judged(found[index], order[index]) for index in range(len(order))]

    # -- verdicts

    def _worth_another(self, attempts: _Attempts, planned: Planned) -> bool:
        """Broken, and not yet as often as it takes in a way that counts; what kills the server is not asked to do so again."""
        if attempts.outcome.verdict != BROKEN or attempts.outcome.fatal:
            return False
        if attempts.evidence + len(attempts.broken) > self._pace.retries:
            attempts.weigh(lambda outcome: self._explained(planned, outcome))
        return attempts.evidence + len(attempts.broken) <= self._pace.retries

    def _explained(self, planned: Planned, outcome: DialogueOutcome) -> bool:
        """Can load explain what broke?"""
        assert outcome.failure is not None
        broker = self._broker
        bounds = tolerance(broker.patience * min(outcome.attempts, 3), planned.factor)
        told = {name: broker.settings[name] for name in planned.variant.exchange.settings if name in broker.settings}
        conditions = Conditions(broker.release, known_settings(broker.release, broker.settings) | told, bounds)
        return explains(outcome.late_ms, outcome.failure, planned.variant, conditions)

    def _judged(self, attempts: _Attempts, planned: Planned) -> DialogueOutcome:
        """What broke in a macro broke on the way to what the exchange is about: that says nothing about its rows. What load can explain
        says nothing either."""
        outcome = attempts.outcome
        if outcome.verdict != BROKEN or outcome.fatal:
            return outcome
        attempts.weigh(lambda outcome: self._explained(planned, outcome))
        if attempts.excused and attempts.evidence <= self._pace.retries:
            late = f"load can explain it: this machine or the broker was up to {attempts.late_ms:.0f} ms late meanwhile"
            return replace(outcome, verdict=UNKNOWN, detail=f"{outcome.detail} ({late})", failure=None)
        if outcome.failure is not None and "(" in outcome.failure.place:
            return replace(outcome, verdict=UNKNOWN, detail=f"could not get that far: {outcome.detail}")
        return outcome

    # -- one round

    def _round(self, planned: Sequence[Planned], attempt: int, parallel: int) -> list[DialogueOutcome]:
        """One attempt at each, whatever becomes of the server meanwhile."""
        found: dict[str, DialogueOutcome] = {}
        left = list(planned)
        while left:
            played = self._side_by_side(left, attempt, parallel)
            if not self._liveness.gone():
                found |= played
                break
            death = self._liveness.death()
            found |= {name: each for name, each in played.items() if name not in death.dialogues and each.detail != GONE}
            back = self._buried(death, found, played)
            suspects = [each for each in left if each.name in death.dialogues and each.name not in found]
            if back and suspects:
                back = self._alone(suspects, attempt, death, found)
            left = [each for each in left if each.name not in found]
            if not back:
                found |= {each.name: _lost(each, death) for each in left}
                break
        return [found[each.name] for each in planned]

    def _side_by_side(self, planned: Sequence[Planned], attempt: int, parallel: int) -> dict[str, DialogueOutcome]:
        with self._waking, self._answering, ThreadPoolExecutor(parallel) as pool:
            futures = [pool.submit(self._one, each, attempt) for each in planned]
            self._tell(futures)
        return {each.name: future.result() for each, future in zip(planned, futures, strict=True)}

    def _tell(self, futures: Sequence[Future[DialogueOutcome]]) -> None:
        try:
            for future in as_completed(futures):
                if not self._liveness.gone():
                    self._said(future.result())
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def _one(self, planned: Planned, attempt: int) -> DialogueOutcome:
        """One dialogue at one attempt. Whatever goes wrong with the check itself is an unknown, never kept."""
        began = time.monotonic()
        exchange, name = planned.variant.exchange, planned.variant.name
        left = self._end - began
        needs = least_ms(exchange) / 1000
        if self._liveness.gone():
            return DialogueOutcome(name, exchange.rows, UNKNOWN, GONE)
        if left < needs:
            return DialogueOutcome(name, exchange.rows, UNKNOWN, f"no time left of the {self._pace.seconds:.0f} s (see --time)")
        seconds = min(needs + SPARE_SECONDS, left)
        stage = TcpStage(self._broker, min(attempt, 3), stretched=planned.factor, seconds=seconds, over=self._liveness.gone)
        try:
            outcome = play(planned.variant, stage, asides=True)
        except ExchangeError as mistake:
            outcome = DialogueOutcome(name, exchange.rows, UNKNOWN, f"a mistake in the exchange: {mistake}")
        except (NoBroker, CannotProvide) as why:
            outcome = DialogueOutcome(name, exchange.rows, UNKNOWN, str(why))
        except Exception as crash:  # a check that fails itself says nothing about the broker
            outcome = DialogueOutcome(name, exchange.rows, UNKNOWN, f"the check failed: {type(crash).__name__}: {crash}")
        self._liveness.ended(name, stage.connected)
        if outcome.verdict != KEPT and self._liveness.gone():
            outcome = replace(outcome, verdict=UNKNOWN, detail=GONE, failure=None)
        outcome.late_ms = max(stage.stalled_ms, self._waking.since(began)) + self._answering.since(began)
        outcome.stretched, outcome.seconds = planned.factor, time.monotonic() - began
        return outcome

    # -- when the server dies

    def _buried(self, death: Death, found: dict[str, DialogueOutcome], played: dict[str, DialogueOutcome]) -> bool:
        """Write the death down, with the one that killed it if that is clear, and wait for the server to come back."""
        self.deaths.append(death)
        if len(death.dialogues) == 1:
            (death.culprit,) = death.dialogues
            found[death.culprit] = _killer(played[death.culprit], death)
        if len(self.deaths) >= MOST_DEATHS:
            death.how = f"it died {MOST_DEATHS} times: given up"
            return False
        revived = self._restart.revive(self._end - time.monotonic())
        death.back, death.how = revived.back, revived.how
        if revived.back:
            self._liveness.begin_anew()
        return revived.back

    def _alone(self, suspects: Sequence[Planned], attempt: int, death: Death, found: dict[str, DialogueOutcome]) -> bool:
        """Play the suspects one by one, the shortest first, until one kills the server again; is it there afterwards?"""
        for each in sorted(suspects, key=lambda each: least_ms(each.variant.exchange)):
            played = self._side_by_side([each], attempt, 1)
            if not self._liveness.gone():
                found |= played
                continue
            second = self._liveness.death()
            back = self._buried(second, found, played)
            death.culprit = second.culprit
            return back
        return True


def _killer(outcome: DialogueOutcome, death: Death) -> DialogueOutcome:
    """The dialogue under which the server died while nothing else was under way: broken, with what is known of it."""
    place, _, step = next((line for line in reversed(outcome.transcript) if not line.startswith(" ")), "").partition("  ")
    since = f"{death.before} had ended just before" if death.before else "nothing else had been played since it was there again"
    told = f"{DIED}; no other was under way, {since}"
    failure = Failure(place, step, "", "a server that goes on answering", "it takes no connections any more", (told,))
    return replace(outcome, verdict=BROKEN, detail=f"{place}: {told}" if place else told, failure=failure, fatal=True)


def _lost(planned: Planned, death: Death) -> DialogueOutcome:
    """What is left when the server does not come back."""
    why = f"{DIED} and {len(death.dialogues) - 1} others: which of them did it is not known" if planned.name in death.dialogues else GONE
    return DialogueOutcome(planned.name, planned.variant.exchange.rows, UNKNOWN, why)


def _counts(outcome: DialogueOutcome) -> bool:
    """A further attempt that could not be played leaves the verdict as it was; but who is gone may have hung up on everybody."""
    return outcome.verdict != UNKNOWN or outcome.detail == GONE
