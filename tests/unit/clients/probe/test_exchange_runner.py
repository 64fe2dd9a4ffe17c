"""The runner notices mistakes in an exchange while it is played, and a broker that answers differently."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cases import for_each

from groupmock_clients.probe.language.exchange import BASE_SETTINGS, Exchange, Send
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.language.parser import load
from groupmock_clients.probe.language.scope import MemberMemory, Scope
from groupmock_clients.probe.language.syntax import ExchangeError, FunctionCall, Literal
from groupmock_clients.probe.stages.contract import Answer
from groupmock_clients.probe.stages.core_stage import CoreStage
from groupmock_clients.probe.verdicts.outcome import DialogueOutcome
from groupmock_clients.probe.verdicts.runner import play

SUITE = load_suite().exchanges


def played(tmp_path: Path, steps: str, release: str = "4.3") -> DialogueOutcome:
    file = tmp_path / "one.exchange"
    file.write_text('exchange X "t"\nrows: R\ntopics: t1:2\n' + steps)
    (variant,) = load([file])[0].variants()
    return play(variant, CoreStage(release, BASE_SETTINGS))


@for_each(
    ("steps", "reason"),
    [
        ("A: Heartbeat -> 0\n", "error 0 expected, 25 seen"),
        ("A: Heartbeat -> silence 10\n", "no answer expected yet"),
        ("A: Heartbeat -> closed\n", "should be closed"),
        ("A: JoinGroup -> 79\nA: JoinGroup -> 0 after 399\n", "no answer"),
        ("A: JoinGroup -> 79\nA: JoinGroup -> parked\nA -> 0 after 500..600\n", "500..600 ms expected; it took 400 ms"),
        ("A: JoinGroup -> 79\nA: JoinGroup -> 0\n", "no answer"),
        ('A: JoinGroup -> 79 member_id=~"x-.*"\n', "'x-.*' expected"),
        ("A: JoinGroup -> 79 generation_id=0..3\n", "0..3 expected, -1 seen"),
        ("A: ListGroups -> 0 groups=len(1)\n", "1 elements expected, 0 seen"),
        ("A: ListGroups -> 0 groups=has({group_id: $group})\n", "one such element expected, 0 seen"),
        ("A: DescribeGroups -> group_state=not(Dead)\n", "another value than 'Dead'"),
        ("A: DescribeGroups -> group_state=any(Empty, Stable)\n", "none of the 2 allowed values"),
        ("A: DescribeGroups -> groups=set[{group_state: Empty}]\n", "no element matches"),
        ("A: DescribeGroups -> groups=[{group_state: ?s, protocol_type: ?s}]\n", "the same as ?s"),
    ],
)
def test_a_difference_is_broken_and_says_where(tmp_path: Path, steps: str, reason: str) -> None:
    outcome = played(tmp_path, steps)
    assert outcome.verdict == "broken"
    assert reason in outcome.detail and outcome.detail.startswith("one.exchange:")
    assert outcome.transcript[-1]


TWO = 'A: JoinGroup v3 protocols=[p(x, b"a")]\nB: JoinGroup v3 protocols=[p(x, b"b")]\nB -> any eventually\n'


@for_each(
    "expected",
    [
        'A -> 0 members=set[{member_id: ?b, metadata: b"b"}, {member_id: ?a, metadata: b"a"}] leader=?a eventually',
        "A -> 0 members=set[{member_id: ?one}, {member_id: $B.member_id}] leader=?one eventually",
        'A -> 0 members=has({member_id: ?b, metadata: b"b"}, {member_id: ?a, metadata: b"a"}) leader=?a eventually',
        'A -> 0 members=lacks({metadata: b"c"}, {metadata: b"d"}) eventually',
    ],
)
def test_a_capture_keeps_what_the_matching_element_has(tmp_path: Path, expected: str) -> None:
    assert played(tmp_path, TWO + expected + "\n").verdict == "kept", expected


@for_each(
    ("expected", "reason"),
    [
        ('A -> 0 members=has({metadata: b"a"}, {metadata: b"c"}) eventually', "one such element expected, 0 seen"),
        ('A -> 0 members=lacks({metadata: b"c"}, {metadata: b"b"}) eventually', "no such element expected, 1 seen"),
    ],
)
def test_each_of_several_elements_is_looked_for(tmp_path: Path, expected: str, reason: str) -> None:
    assert reason in played(tmp_path, TWO + expected + "\n").detail


def test_a_topic_has_an_id(tmp_path: Path) -> None:
    assert played(tmp_path, "A: Metadata v12 topics=[{topic_id: $t1.id}] -> topics=[{name: $t1, topic_id: $t1.id}]\n").verdict == "kept"


def test_a_request_without_an_answer_takes_none(tmp_path: Path) -> None:
    steps = 'A: Produce acks=0 topic_data=[put($t1, 0, records("a"))]\nA: ListOffsets topics=[seek($t1, 0, -1)]\nA -> 0 topics=[{}]\n'
    outcome = played(tmp_path, steps)
    assert outcome.verdict == "kept", str(outcome)
    assert played(tmp_path, steps.replace("-> 0 topics", "-> 7 topics")).failure.sent.startswith("ListOffsets")  # type: ignore[union-attr]


@for_each(
    ("steps", "reason"),
    [
        ("A: Heartbeet -> 0\n", "no API 'Heartbeet'"),
        ("A: Heartbeat generation=3 -> 0\n", "no field 'generation'"),
        ("A: Heartbeat -> 25 generation_id=3\n", "no field 'generation_id'"),
        ("A: Heartbeat member_id=$B.member_id -> 0\n", r"\$B.member_id means nothing"),
        ("A: Heartbeat member_id=$nobody -> 0\n", r"\$nobody means nothing"),
        ("A: JoinGroup protocols=[q(range)] -> 0\n", "no function 'q'"),
        ("A: JoinGroup protocols=[p()] -> 0\n", r"p\(\)"),
        ("A -> 0\n", "no request under way"),
        ("A: JoinGroup -> 79\nA: JoinGroup -> 0 after 400 since T\n", "there was no 'mark T'"),
        ("pause until 3 since T\nA: Heartbeat -> 25\n", "there was no 'mark T'"),
        ('A: Heartbeat member_id=~"x" -> 25\n', "where a value must"),
    ],
)
def test_a_mistake_in_the_exchange_is_an_error_with_its_place(tmp_path: Path, steps: str, reason: str) -> None:
    with pytest.raises(ExchangeError, match=reason) as mistake:
        played(tmp_path, steps)
    assert str(mistake.value).startswith("one.exchange:")


def test_an_unoffered_version_is_not_applicable(tmp_path: Path) -> None:
    assert played(tmp_path, "A: JoinGroup v10 -> 79\n", "3.9").verdict == "not applicable"


class Liar(CoreStage):
    """A core whose answers are falsified before they are sent."""

    def __init__(self, exchange: Exchange, api: str, lie: Callable[[Any], object]) -> None:
        super().__init__("4.3", exchange.wanted_settings)
        self._api, self._lie = api, lie

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        found = super().answer(member, limit_ms)
        if found is not None and found.api == self._api:
            copy = msgspec.structs.replace(found.message)
            self._lie(copy)
            return found._replace(message=copy)
        return found


def code(before: int, after: int) -> Callable[[Any], None]:
    """Return a function that replaces one error code of an answer."""

    def lie(message: Any) -> None:
        if message.error_code == before:
            message.error_code = after

    return lie


def field(name: str, value: object, only: int | None = None) -> Callable[[Any], None]:
    """Return a function that changes one field of the answers with the error code `only`."""

    def lie(message: Any) -> None:
        if only is None or message.error_code == only:
            setattr(message, name, value)

    return lie


def describe(name: str, value: object) -> Callable[[Any], None]:
    """Return a function that changes one field of every described group."""

    def lie(message: Any) -> None:
        message.groups = [msgspec.structs.replace(group, **{name: value}) for group in message.groups]

    return lie


def partitions(before: int, after: int) -> Callable[[Any], None]:
    """Return a function that replaces one error code in every partition."""

    def lie(message: Any) -> None:
        for topic in message.topics:
            for partition in topic.partitions:
                if partition.error_code == before:
                    partition.error_code = after

    return lie


def longer_generation(message: Any) -> None:
    if message.generation_id > 1:
        message.generation_id += 1


def reversed_topics(message: Any) -> None:
    message.topics = message.topics[::-1]


LIES: list[tuple[str, str, Callable[[Any], object]]] = [
    *[("Heartbeat", f"{a} for {b}", code(b, a)) for b, a in [(27, 0), (25, 0), (82, 25), (0, 27), (22, 0), (22, 25), (25, 82)]],
    *[("SyncGroup", f"{a} for {b}", code(b, a)) for b, a in [(27, 0), (25, 22), (22, 25), (82, 25), (23, 0), (0, 27)]],
    *[("JoinGroup", f"{a} for {b}", code(b, a)) for b, a in [(25, 82), (82, 25), (23, 25), (26, 25), (24, 25), (79, 0)]],
    *[("JoinGroup", f"{a} for {b}", code(b, a)) for b, a in [(81, 25), (-1, 25)]],
    *[("LeaveGroup", f"{a} for {b}", code(b, a)) for b, a in [(24, 25), (25, 0)]],
    *[("OffsetCommit", f"{a} for {b}", partitions(b, a)) for b, a in [(27, 0), (22, 25), (25, 22), (12, 0), (3, 0), (82, 25), (69, 22)]],
    *[("OffsetDelete", f"{a} for {b}", code(b, a)) for b, a in [(69, 0), (68, 69)]],
    ("OffsetDelete", "86 for 0", partitions(0, 86)),
    ("OffsetDelete", "0 for 86", partitions(86, 0)),
    ("SyncGroup", "no assignment", field("assignment", b"")),
    ("SyncGroup", "assignment beside an error", field("assignment", b"x", 27)),
    ("SyncGroup", "throttled", field("throttle_time_ms", 1)),
    ("JoinGroup", "a generation too many", longer_generation),
    ("JoinGroup", "no members", field("members", [])),
    ("JoinGroup", "assignment to be skipped", field("skip_assignment", True, 0)),
    ("JoinGroup", "assignment never skipped", field("skip_assignment", False, 0)),
    ("JoinGroup", "another leader", field("leader", "somebody", 0)),
    ("JoinGroup", "an id beside 81", field("member_id", "x", 81)),
    ("JoinGroup", "no id beside 25", field("member_id", "", 25)),
    ("JoinGroup", "an empty name for null", field("protocol_name", "", 79)),
    ("JoinGroup", "a generation beside an error", field("generation_id", 0, 23)),
    ("DescribeGroups", "always Stable", describe("group_state", "Stable")),
    ("DescribeGroups", "no members", describe("members", [])),
    ("DescribeGroups", "a protocol name in every state", describe("protocol_data", "range")),
    ("OffsetCommit", "another order", reversed_topics),
]


@for_each(("api", "what", "lie"), LIES, ids=[f"{api}-{what}" for api, what, _ in LIES])
def test_every_lie_is_noticed_by_an_exchange(api: str, what: str, lie: Callable[[Any], object]) -> None:
    """The suite of exchanges notices an answer in which one field is falsified."""
    for exchange in SUITE:
        if exchange.lacking or "core" not in exchange.stages or "4.3" not in exchange.releases:
            continue
        if any(isinstance(step, Send) and step.api == api for step in exchange.steps):
            for variant in list(exchange.variants())[-1:]:
                if play(variant, Liar(exchange, api, lie)).verdict == "broken":
                    return
    pytest.fail(f"nothing notices that {api} answers {what}")


def test_a_member_keeps_what_it_knows_on_its_second_connection(tmp_path: Path) -> None:
    steps = "A: JoinGroup -> 79\nA/2: JoinGroup -> parked\nA: DescribeGroups -> 0\nA/2 -> 0 member_id=$A.member_id after 400\n"
    assert played(tmp_path, steps + "A: SyncGroup -> 0\nA/2: Heartbeat -> 0\n").verdict == "kept"


def test_answers_that_have_a_name_can_be_spoken_of(tmp_path: Path) -> None:
    steps = "A: JoinGroup as first -> 79\nB: JoinGroup as second -> 79\nA: Heartbeat generation_id=0 member_id=$second.member_id -> 25\n"
    assert played(tmp_path, steps + "A: JoinGroup member_id=$first.member_id -> 0 member_id=$first.member_id after 400\n").verdict == "kept"
    with pytest.raises(ExchangeError, match="JoinGroupResponse has no field 'nonsense'"):
        played(tmp_path, "A: JoinGroup as first -> 79\nA: Heartbeat member_id=$first.nonsense -> 0\n")


def test_what_no_answer_has_told_yet_is_left_at_its_default(tmp_path: Path) -> None:
    steps = "P: InitProducerId v1 transactional_id=null transaction_timeout_ms=1000 -> 0 producer_id=?first\n"
    untold = 'Q: Produce v9 acks=-1 timeout_ms=1 topic_data=[put($t1, 0, sequenced($Q.producer_id, $Q.producer_epoch, -1, "a"))] -> 0\n'
    told = "P: InitProducerId v3 transactional_id=null producer_id=$Q.producer_id+1 producer_epoch=$Q.producer_epoch -> 0\n"
    assert played(tmp_path, steps + untold + told).verdict == "kept"


def test_only_who_leads_assigns(tmp_path: Path) -> None:
    joined = "A: JoinGroup -> 79\nA: JoinGroup -> 0 after 400\n"
    assert played(tmp_path, joined + 'A: SyncGroup assignments=led(A, A, B) -> 0 assignment=b"1 A"\n').verdict == "kept"
    asked = FunctionCall("led", (Literal("B"), Literal("A"), Literal("B")))
    assert Scope(members={"B": MemberMemory("c", member_id="b", leader="a")}).evaluate(asked, "x") == []
