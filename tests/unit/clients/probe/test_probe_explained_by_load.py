"""A failure that an overloaded machine can explain is unknown, and one that no delay can explain is broken. Dialogues are played on the
pure core, with stalls planted in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from groupmock import Broker
from groupmock_clients.probe.language.exchange import BASE_SETTINGS, Variant
from groupmock_clients.probe.language.parser import load
from groupmock_clients.probe.schedule import Pace, Schedule
from groupmock_clients.probe.stages.contract import Answer
from groupmock_clients.probe.stages.core_stage import CoreStage
from groupmock_clients.probe.stages.tcp_broker import TcpBroker
from groupmock_clients.probe.stages.tcp_stage import tolerance
from groupmock_clients.probe.verdicts.explained_by_load import STRAINED_MS, Conditions, explains
from groupmock_clients.probe.verdicts.outcome import BROKEN, KEPT, UNKNOWN, DialogueOutcome, Failure
from groupmock_clients.probe.verdicts.runner import play
from groupmock_clients.probe.verdicts.selection import Planned

CONDITIONS = Conditions("4.3", BASE_SETTINGS, tolerance(1))
ALIVE = """exchange x "a session of 300 ms, and a heartbeat after 150"
rows: R
member *: session_timeout_ms=300
A: JoinGroup v3 -> 0 generation_id=1 after 400
A: SyncGroup -> 0
pause 150
A: Heartbeat -> 0
"""
PARKED = """exchange x "the join of a new group waits for others"
rows: R
A: JoinGroup v3
pause 150
A -> parked
A -> 0 eventually
"""
BYTES = 'exchange x "t"\nrows: R\nstages: tcp\n{}A: bytes x"00" -> closed\n'


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Variant]:
    def one(text: str) -> Variant:
        file = tmp_path / "x.exchange"
        file.write_text(text)
        return next(iter(load([file])[0].variants()))

    return one


class Late(CoreStage):
    """The core on a machine that wakes up `late_ms` late, with the time tolerance of TCP."""

    tolerance = CONDITIONS.tolerance

    def __init__(self, late_ms: float = 0, wrong: int | None = None, slow_ms: float = 0) -> None:
        super().__init__("4.3", BASE_SETTINGS)
        self.late_ms, self.wrong, self.slow_ms = late_ms, wrong, slow_ms

    def pause(self, ms: float) -> None:
        super().pause(ms + self.late_ms)

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """Return the answer, `slow_ms` late and with the error `wrong` for every Heartbeat."""
        found = super().answer(member, limit_ms)
        if found is not None and found.api == "Heartbeat" and self.wrong is not None:
            message: Any = msgspec.structs.replace(found.message, error_code=self.wrong)  # type: ignore[call-overload]
            found = found._replace(message=message)
        return found if found is None else found._replace(at_ms=found.at_ms + self.slow_ms)


def broken(variant: Variant, stage: CoreStage) -> Failure:
    outcome = play(variant, stage)
    assert outcome.verdict == BROKEN and outcome.failure is not None, str(outcome)
    return outcome.failure


def test_what_is_judged_here_is_kept_by_a_machine_in_time(read: Callable[[str], Variant]) -> None:
    assert [play(read(text), Late()).verdict for text in (ALIVE, PARKED)] == [KEPT, KEPT]


def test_a_session_that_ran_out_while_we_were_late_is_explained(read: Callable[[str], Variant]) -> None:
    variant = read(ALIVE)
    failure = broken(variant, Late(200))
    assert failure.problems == ("error 0 expected, 25 seen",)
    assert explains(200, failure, variant, CONDITIONS)


def test_by_no_smaller_delay_than_it_takes(read: Callable[[str], Variant]) -> None:
    variant = read(ALIVE)
    failure = broken(variant, Late(200))
    assert [explains(ms, failure, variant, CONDITIONS) for ms in (0, STRAINED_MS - 1, 100, 149, 151)] == [False, False, False, False, True]


def test_an_error_that_no_delay_brings_is_not_explained(read: Callable[[str], Variant]) -> None:
    variant = read(ALIVE)
    failure = broken(variant, Late(0, wrong=82))
    assert not any(explains(ms, failure, variant, CONDITIONS) for ms in (0, 200, 1000, 10_000))


def test_nor_is_a_field_that_none_brings(read: Callable[[str], Variant]) -> None:
    variant = read(ALIVE.replace("generation_id=1", "generation_id=7"))
    failure = broken(variant, Late())
    assert not explains(1000, failure, variant, CONDITIONS)


def test_a_timer_that_struck_before_we_looked_is_explained(read: Callable[[str], Variant]) -> None:
    variant = read(PARKED)
    failure = broken(variant, Late(300))
    assert failure.problems[0].startswith("no answer expected yet, but there is one")
    assert explains(300, failure, variant, CONDITIONS) and not explains(0, failure, variant, CONDITIONS)


def test_an_answer_is_late_by_as_much_as_was_measured_or_broken(read: Callable[[str], Variant]) -> None:
    variant = read(ALIVE)
    failure = broken(variant, Late(slow_ms=900))
    assert failure.off_ms == 900 - CONDITIONS.tolerance.late and failure.problems == failure.timing == ("400 ms expected; it took 1300 ms",)
    assert explains(451, failure, variant, CONDITIONS)
    assert not explains(449, failure, variant, CONDITIONS)


def test_where_the_core_has_no_say_dialogues_with_times_are_explained(read: Callable[[str], Variant]) -> None:
    failure = Failure("x.exchange:4", "", "", "closed", "", ("the connection should be closed; an answer came: x",))
    assert explains(100, failure, read(BYTES.format("pause 100\n")), CONDITIONS)
    assert not explains(100, failure, read(BYTES.format("")), CONDITIONS)


# -- what a session makes of it


class OnCore(Schedule):
    """Plays dialogues on the core and uses the next stage for each attempt."""

    stages: list[Late]

    def _one(self, planned: Planned, attempt: int) -> DialogueOutcome:
        stage = self.stages[min(attempt, len(self.stages)) - 1]
        outcome = play(planned.variant, stage)
        outcome.late_ms = stage.late_ms
        return outcome


@pytest.fixture
def judged(read: Callable[[str], Variant]) -> Callable[..., DialogueOutcome]:
    def one(text: str, stages: list[Late], retries: int) -> DialogueOutcome:
        with Broker(profile="kafka-4.3", settings=BASE_SETTINGS, seed=1) as server:
            host, _, port = server.bootstrap.rpartition(":")
            broker = TcpBroker(host, int(port))
            session = OnCore(broker, Pace(retries=retries))
            session.stages = stages
            (outcome,) = session.play([Planned(read(text), read(text), 1)])
            broker.close()
        return outcome

    return one


def test_what_load_explains_every_time_is_unknown_and_says_so(judged: Callable[..., DialogueOutcome]) -> None:
    outcome = judged(ALIVE, [Late(200)] * 9, retries=1)
    assert (outcome.verdict, outcome.attempts, outcome.failure) == (UNKNOWN, 4, None)
    assert outcome.detail == (
        "x.exchange:7: error 0 expected, 25 seen (load can explain it: this machine or the broker was up to 200 ms late meanwhile)"
    )


def test_without_retries_too(judged: Callable[..., DialogueOutcome]) -> None:
    assert judged(ALIVE, [Late(200)], retries=0).verdict == UNKNOWN


def test_a_later_attempt_in_time_counts(judged: Callable[..., DialogueOutcome]) -> None:
    outcome = judged(ALIVE, [Late(200), Late(200), Late()], retries=1)
    assert (outcome.verdict, outcome.attempts) == (KEPT, 3)


def test_the_same_answer_without_load_is_broken(judged: Callable[..., DialogueOutcome]) -> None:
    outcome = judged(ALIVE, [Late(0, wrong=25)] * 9, retries=1)
    assert (outcome.verdict, outcome.attempts) == (BROKEN, 2)


def test_what_no_delay_explains_is_broken_under_load(judged: Callable[..., DialogueOutcome]) -> None:
    outcome = judged(ALIVE, [Late(100, wrong=82)] * 9, retries=1)
    assert (outcome.verdict, outcome.attempts) == (BROKEN, 2)


def test_an_attempt_that_load_explains_is_none_of_the_retries(judged: Callable[..., DialogueOutcome]) -> None:
    outcome = judged(ALIVE, [Late(200), *[Late(0, wrong=25)] * 9], retries=1)
    assert (outcome.verdict, outcome.attempts) == (BROKEN, 3)
