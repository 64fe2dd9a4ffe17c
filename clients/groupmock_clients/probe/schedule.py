"""Play the planned dialogues against one broker, many at a time, and afterwards repeat those that broke.

If the server dies, the schedule waits for it to come back. If several dialogues were in progress, each of them is then played alone. That
separates the dialogue that kills the server from the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Final

from .language.duration import least_ms
from .language.syntax import ExchangeError
from .stages.lateness import HUNG_SECONDS, AnswerLateness, WakeLateness
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
"""The time allowed for a dialogue beyond its minimal duration, in seconds. The steps themselves have much tighter bounds."""
QUIET: Final = 4
"""The number of dialogues that are played at a time when broken ones are repeated."""
FURTHER: Final = 2
"""The number of additional attempts at a dialogue if load can explain its failures. Such attempts do not count as retries."""
MOST_DEATHS: Final = 20
"""The number of deaths after which the probe gives a server up."""
GONE: Final = "the broker is gone: it takes no connections any more"
DIED: Final = "the server stopped answering during this dialogue"


@dataclass(frozen=True)
class Pace:
    """The limits of a run of the probe.

    `parallel`: dialogues at a time. `retries`: repetitions of a broken dialogue before it counts. `seconds`: time for the whole run.
    `wait`: seconds until a dead server must be back. `restart`: the words of the command that restarts the server, if any.
    """

    parallel: int = 32
    retries: int = 2
    seconds: float = 900
    wait: float = 30
    restart: tuple[str, ...] = ()


@dataclass
class _Attempts:
    """The attempts at one dialogue so far.

    `broken`: failed attempts that were not weighed yet. `evidence`: failures that load cannot explain. `excused`: failures that load can
    explain. `late_ms`: the worst lateness among the latter.
    """

    outcome: DialogueOutcome
    broken: list[DialogueOutcome] = field(default_factory=list)
    evidence: int = 0
    excused: int = 0
    late_ms: float = 0

    def __post_init__(self) -> None:
        self.add(self.outcome)

    def add(self, outcome: DialogueOutcome) -> None:
        self.outcome = outcome
        if outcome.verdict == BROKEN and not outcome.fatal:
            self.broken.append(outcome)

    def weigh(self, explained: Callable[[DialogueOutcome], bool]) -> None:
        """Decide which failed attempts load on the machine can explain. This is done late, because it takes as many plays on the core as
        a dialogue has turns."""
        for outcome in self.broken:
            if explained(outcome):
                self.excused, self.late_ms = self.excused + 1, max(self.late_ms, outcome.late_ms)
            else:
                self.evidence += 1
        self.broken.clear()


class Schedule:
    """Plays one run of the probe. `said` is called with every outcome when it is known. `deaths` records each time the server went away."""

    def __init__(self, broker: TcpBroker, pace: Pace, said: Callable[[DialogueOutcome], None] = lambda outcome: None) -> None:
        self._broker, self._pace, self._said = broker, pace, said
        self._end = time.monotonic() + pace.seconds
        self._waking, self._answering = WakeLateness(), AnswerLateness(lambda: broker.access.client(broker.host, broker.port, HUNG_SECONDS))
        self._liveness = Liveness(broker.alive)
        self._restart = Restart(broker, pace.restart, pace.wait)
        self.deaths: list[Death] = []

    def close(self) -> None:
        self._restart.close()

    def play(self, planned: Iterable[Planned]) -> list[DialogueOutcome]:
        """Return the outcome of every dialogue in the order of the plan."""
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

    def _worth_another(self, attempts: _Attempts, planned: Planned) -> bool:
        """Tell whether to repeat a dialogue, which is the case if it is broken and has not failed often enough. A dialogue that kills
        the server is not repeated."""
        if attempts.outcome.verdict != BROKEN or attempts.outcome.fatal:
            return False
        if attempts.evidence + len(attempts.broken) > self._pace.retries:
            attempts.weigh(lambda outcome: self._explained(planned, outcome))
        return attempts.evidence + len(attempts.broken) <= self._pace.retries

    def _explained(self, planned: Planned, outcome: DialogueOutcome) -> bool:
        """Tell whether load on the machine can explain the failure."""
        assert outcome.failure is not None
        broker = self._broker
        bounds = tolerance(broker.patience * min(outcome.attempts, 3), planned.factor)
        exchange = planned.variant.exchange
        told = {name: broker.settings[name] for name in exchange.settings if name in broker.settings} | exchange.of_authorizer
        conditions = Conditions(broker.release, known_settings(broker.release, broker.settings) | told, bounds)
        return explains(outcome.late_ms, outcome.failure, planned.variant, conditions)

    def _judged(self, attempts: _Attempts, planned: Planned) -> DialogueOutcome:
        """Return the final verdict on all attempts at a dialogue. It is unknown if load can explain the failure, or if a macro failed,
        because macros only prepare what the exchange is about."""
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

    def _round(self, planned: Sequence[Planned], attempt: int, parallel: int) -> list[DialogueOutcome]:
        """Play each dialogue once, even if the server dies in between. Nothing is played after a death from which it did not come back."""
        if self._liveness.gone():
            return [_lost(each, self.deaths[-1]) for each in planned]
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
        """Play one attempt at a dialogue. If the check itself fails, the verdict is unknown and never kept."""
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
        except Exception as crash:  # An exception in the probe itself says nothing about the broker.
            outcome = DialogueOutcome(name, exchange.rows, UNKNOWN, f"the check failed: {type(crash).__name__}: {crash}")
        self._liveness.ended(name, stage.connected)
        if outcome.verdict != KEPT and self._liveness.gone():
            outcome = replace(outcome, verdict=UNKNOWN, detail=GONE, failure=None)
        outcome.late_ms = max(stage.stalled_ms, self._waking.since(began)) + self._answering.since(began)
        outcome.stretched, outcome.seconds = planned.factor, time.monotonic() - began
        return outcome

    def _buried(self, death: Death, found: dict[str, DialogueOutcome], played: dict[str, DialogueOutcome]) -> bool:
        """Record a death of the server, with its cause if that is clear, and wait for the server to come back."""
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
        """Play the dialogues that may have killed the server one by one, the shortest first, until one kills the server again. Returns
        whether the server is back."""
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
    """Return the broken outcome of a dialogue under which the server died while no other dialogue was in progress."""
    place, _, step = next((line for line in reversed(outcome.transcript) if not line.startswith(" ")), "").partition("  ")
    since = f"{death.before} had ended just before" if death.before else "nothing else had been played since it was there again"
    told = f"{DIED}; no other was under way, {since}"
    failure = Failure(place, step, "", "a server that goes on answering", "it takes no connections any more", (told,))
    return replace(outcome, verdict=BROKEN, detail=f"{place}: {told}" if place else told, failure=failure, fatal=True)


def _lost(planned: Planned, death: Death) -> DialogueOutcome:
    """Return the outcome of a dialogue that could not be played because the server did not come back."""
    why = f"{DIED} and {len(death.dialogues) - 1} others: which of them did it is not known" if planned.name in death.dialogues else GONE
    return DialogueOutcome(planned.name, planned.variant.exchange.rows, UNKNOWN, why)


def _counts(outcome: DialogueOutcome) -> bool:
    """Tell whether an attempt counts when a dialogue is repeated. An attempt that could not be played does not, unless the broker is
    gone, because that may have ended the dialogue."""
    return outcome.verdict != UNKNOWN or outcome.detail == GONE
