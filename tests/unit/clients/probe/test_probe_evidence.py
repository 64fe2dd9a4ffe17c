"""A broker is not blamed for failures on the way to it, for the subject of another rule, or for an overloaded machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from groupmock import Broker
from groupmock_clients.probe.language.exchange import BASE_SETTINGS, Variant
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.language.parser import load
from groupmock_clients.probe.schedule import GONE, Pace, Schedule
from groupmock_clients.probe.stages.contract import Answer
from groupmock_clients.probe.stages.core_stage import CoreStage
from groupmock_clients.probe.stages.lateness import WakeLateness
from groupmock_clients.probe.stages.tcp_broker import TcpBroker
from groupmock_clients.probe.verdicts.outcome import BROKEN, KEPT, UNKNOWN, DialogueOutcome
from groupmock_clients.probe.verdicts.report_model import exchange_results, row_results
from groupmock_clients.probe.verdicts.runner import play
from groupmock_clients.probe.verdicts.selection import Planned

RIGHT, WRONG = "A: Heartbeat member_id=x generation_id=1 -> 25\n", "A: Heartbeat member_id=x generation_id=1 -> 0\n"
Read = Callable[[str], Planned]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def one(text: str) -> Planned:
        file = tmp_path / "x.exchange"
        file.write_text(text)
        variant = next(iter(load([file])[0].variants()))
        return Planned(variant, variant, 1)

    return one


@pytest.fixture(scope="module")
def broker() -> Iterator[TcpBroker]:
    with Broker(profile="kafka-4.3", settings=BASE_SETTINGS, seed=1) as server:
        host, _, port = server.bootstrap.rpartition(":")
        # The probe's verdict does not depend on time, so the broker gets many seconds to answer.
        judged = TcpBroker(host, int(port), patience=20)
        yield judged
        judged.close()


def test_what_breaks_in_a_macro_is_on_the_way(read: Read, broker: TcpBroker) -> None:
    planned = read(f'macro m(A)\n{WRONG}\nexchange x "t"\nrows: R\ndo m(A)\n{RIGHT}')
    (outcome,) = Schedule(broker, Pace(retries=1)).play([planned])
    assert (outcome.verdict, outcome.attempts) == (UNKNOWN, 2)
    assert outcome.detail == "could not get that far: x.exchange:6 (x.exchange:2): error 0 expected, 25 seen"


def test_a_topic_of_ones_own_is_new_every_time_and_has_its_configs(read: Read, broker: TcpBroker) -> None:
    made = 'P: Produce acks=-1 topic_data=[put($t1, 0, records("a"))] -> 0 responses=[{partition_responses: [{base_offset: 0}]}]\n'
    told = 'P: DescribeConfigs resources=[{resource_type: 2, resource_name: $t1, configuration_keys: ["retention.ms"]}]'
    answer = ' -> results=[{configs: [{name: "retention.ms", value: "77"}]}]\n'
    planned = read(f'exchange x "t"\nrows: R\ntopics: t1:2[retention.ms=77]\n{made}{told}{answer}')
    for _ in range(2):
        (outcome,) = Schedule(broker, Pace(retries=0)).play([planned])
        assert outcome.verdict == KEPT, str(outcome)


def test_what_breaks_in_the_exchange_itself_is_broken(read: Read, broker: TcpBroker) -> None:
    planned = read(f'macro m(A)\n{RIGHT}\nexchange x "t"\nrows: R\ndo m(A)\n{WRONG}')
    (outcome,) = Schedule(broker, Pace(retries=0)).play([planned])
    assert outcome.verdict == BROKEN and outcome.detail.startswith("x.exchange:7: error 0 expected, 25 seen")


def test_no_time_left_is_unknown(read: Read, broker: TcpBroker) -> None:
    planned = read('exchange x "t"\nrows: R\nA: JoinGroup v3 -> silence 5000\n')
    (outcome,) = Schedule(broker, Pace(seconds=1)).play([planned])
    assert (outcome.verdict, outcome.detail) == (UNKNOWN, "no time left of the 1 s (see --time)")


def test_a_broker_that_goes_away_breaks_nothing(read: Read) -> None:
    with Broker(profile="kafka-4.3", settings=BASE_SETTINGS, seed=1) as server:
        host, _, port = server.bootstrap.rpartition(":")
        # The probe's verdict does not depend on time, so the broker gets many seconds to answer.
        judged = TcpBroker(host, int(port), patience=20)
    (outcome,) = Schedule(judged, Pace(wait=0)).play([read(f'exchange x "t"\nrows: R\n{RIGHT}')])
    judged.close()
    assert (outcome.verdict, outcome.detail) == (UNKNOWN, GONE)


class Forgetful(CoreStage):
    """A core whose successful JoinGroup answers tell followers to skip the assignment, which every_answer.py checks in every dialogue."""

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        found = super().answer(member, limit_ms)
        if found is not None and found.api == "JoinGroup":
            message: Any = msgspec.structs.replace(found.message, skip_assignment=True)
            return found._replace(message=message)
        return found


def other(name: str) -> Variant:
    return list(next(each for each in load_suite().exchanges if each.name == name).variants())[-1]


def test_what_holds_for_every_answer_has_a_row_of_its_own() -> None:
    outcome = play(other("SERVER-18-alone"), Forgetful("4.3", BASE_SETTINGS), asides=True)
    assert outcome.verdict == KEPT
    assert {row for row, _ in outcome.asides} == {"P1-d4", "SERVER-12"}
    (kept, broken) = row_results(load_suite(), ["SERVER-18", "SERVER-12"], exchange_results(load_suite(), [outcome], False))
    assert (kept.verdict, broken.verdict) == (KEPT, BROKEN)
    assert broken.detail == "SERVER-18-alone[v=9]: skip_assignment: False expected (it always is so), True seen"


def test_where_it_is_the_subject_it_breaks() -> None:
    outcome = play(other("SERVER-12"), Forgetful("4.3", BASE_SETTINGS), asides=True)
    assert outcome.verdict == BROKEN


def test_a_machine_that_wakes_nobody_is_noticed() -> None:
    with WakeLateness() as lag:
        began = time.monotonic()
        sum(range(20_000_000))  # This single call never releases the interpreter to another thread.
        ended = time.monotonic()
        deadline = ended + 5
        while not (late := lag.since(began)) and time.monotonic() < deadline:
            time.sleep(0.005)
    assert late >= (ended - began) * 1000 * 0.5


def test_an_outcome_prints_its_transcript_where_it_broke() -> None:
    assert str(DialogueOutcome("x", ("R",), BROKEN, "why", ["a line"])) == "broken          x: why\n    a line"
