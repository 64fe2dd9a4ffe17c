"""The differential prints scripts as exchanges that `groupmock probe` plays with the same answers."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from groupmock.rig import FedDice
from groupmock_clients.probe.language.exchange import Exchange
from groupmock_clients.probe.language.parser import load as load_exchanges
from groupmock_clients.probe.stages.contract import Answer
from groupmock_clients.probe.stages.core_stage import CoreStage
from groupmock_clients.probe.verdicts.outcome import BROKEN, KEPT, DialogueOutcome
from groupmock_clients.probe.verdicts.runner import play as play_exchange
from tools.fidelity.compare.golden import PLAYED_ON_CORE, load
from tools.fidelity.families import RELEASES, family
from tools.fidelity.generated.exchange_text import as_text
from tools.fidelity.generated.script import Script, TopicNeed, request, told, topic, topic_id
from tools.fidelity.generated.settings_classes import BROKERS, NODES
from tools.fidelity.generated.transcript import ANSWERED, Facts, Transcript
from tools.fidelity.guided.core_player import play
from tools.fidelity.on_kafka import CROSSED

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SEEDS = {"4.4": 20, "4.3": 60, "3.9": 20}
Read = Callable[[str], Exchange]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def one(text: str) -> Exchange:
        file = tmp_path / "printed.exchange"
        file.write_text(text, encoding="utf-8")
        (exchange,) = load_exchanges([file])
        return exchange

    return one


class Same(CoreStage):
    """The core in the state in which the first play found it, with the same topics and ids. `looked_at` counts the compared answers."""

    def __init__(self, script: Script, facts: Facts, exchange: Exchange) -> None:
        super().__init__(script.release, exchange.wanted_settings)
        fed = FedDice(script.seed)
        fed.fed.extend(b64encode(fact.topic_id).decode() for fact in facts.topics)
        self.core.environment.dice = fed
        self.looked_at = 0
        self._name = facts.groups[0]

    def group(self) -> str:
        return self._name

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        found = super().answer(member, limit_ms)
        self.looked_at += found is not None
        return found


def played_again(script: Script, transcript: Transcript, read: Read, text: str = "") -> tuple[DialogueOutcome, int]:
    """Play the printed exchange and return its outcome and the number of compared answers."""
    exchange = read(text or as_text(script, transcript))
    (variant,) = exchange.variants()
    stage = Same(script, transcript.facts, exchange)
    return play_exchange(variant, stage), stage.looked_at


@pytest.mark.parametrize(
    ("name", "release"), [(name, release) for name in PLAYED_ON_CORE if name not in NODES for release in RELEASES.get(name, BROKERS)]
)
def test_printed_exchanges_play_to_the_same_answers(name: str, release: str, read: Read) -> None:
    for seed in range(SEEDS["4.4"] if name in CROSSED else SEEDS[release]):
        script = family(name)(seed, release)
        transcript = play(script)
        outcome, looked_at = played_again(script, transcript, read)
        assert outcome.verdict == KEPT, f"{name} seed {seed} of {release}\n{outcome}"
        assert looked_at == sum(event.status == ANSWERED for event in transcript.events), f"{name} seed {seed} of {release}"


@pytest.mark.parametrize(("name", "seed"), [("groups", 7), ("log", 9)])
def test_another_answer_anywhere_breaks_them(name: str, seed: int, read: Read) -> None:
    script = family(name)(seed, "4.3")
    transcript = play(script)
    lines = as_text(script, transcript).splitlines()
    coded = [at for at, line in enumerate(lines) if " -> 0" in line]
    assert len(coded) > 3
    for at in coded:
        wrong = "\n".join([*lines[:at], lines[at].replace(" -> 0", " -> 7"), *lines[at + 1 :]])
        assert played_again(script, transcript, read, wrong)[0].verdict == BROKEN, lines[at]


def test_bytes_are_sent_over_tcp_and_the_broker_is_there_afterwards(read: Read) -> None:
    for seed in range(20):
        exchange = read(as_text(family("bytes")(seed, "4.3")))
        assert exchange.stages == ("tcp",)
        assert exchange.steps[-1].text == "End: ApiVersions v0 -> 0"


@pytest.mark.parametrize("release", ["4.3", "3.9"])
@pytest.mark.parametrize("name", ["groups", "log"])
def test_plays_of_real_brokers_are_exchanges(name: str, release: str, read: Read) -> None:
    count = 0
    for golden in load(GOLDEN, release, name):
        exchange = read(as_text(golden.script, golden.transcript, near_ms=100))
        assert exchange.releases == (release,)
        count += 1
        if count == 30:
            break
    assert count == 30


def test_numbers_that_a_broker_draws_are_named(read: Read) -> None:
    session = [
        request("A", 1, 11, {"session_id": 0, "session_epoch": 0, "topics": [{"topic": topic(1), "partitions": [{"partition": 0}]}]}),
        request("A", 1, 11, {"session_id": told("A", "session_id"), "session_epoch": 1}),
        request("A", 1, 11, {"session_id": told("A", "session_id", 1), "session_epoch": 2}),
        request("B", 22, 1, {"transactional_id": None}),
        request("B", 3, 12, {"topics": [{"topic_id": topic_id(1), "name": None}]}),
    ]
    script = Script("log", 5, "4.3", "plain", list(session), 1, [TopicNeed(2, own=True, configs={"retention.ms": "-1"})])
    transcript = play(script)
    text = as_text(script, transcript)
    for part in (
        "session_id=?s1",
        "session_id=$A.session_id ",
        "session_id=$A.session_id+1 ",
        "producer_id=?p1",
        "topic_id: $t1.id",
        "t1:2[retention.ms=-1]",
    ):
        assert part in text, part
    assert played_again(script, transcript, read)[0].verdict == KEPT


def test_a_request_that_is_never_answered_leaves_the_next_one_its_own(read: Read) -> None:
    script = Script(
        "log",
        5,
        "4.3",
        "plain",
        [request("A", 0, 7, {"acks": 0, "timeout_ms": 10, "topic_data": []}), request("A", 18, 0)],
        1,
        [TopicNeed()],
    )
    transcript = play(script)
    outcome, _ = played_again(script, transcript, read)
    assert outcome.verdict == KEPT, str(outcome)
