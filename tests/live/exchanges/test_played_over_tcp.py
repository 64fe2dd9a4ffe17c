"""The differential compares groupmock over TCP with the core: the same settings agree, and other settings differ."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from groupmock import Broker
from tools.fidelity.__main__ import main
from tools.fidelity.compare.exchange_run import ComparisonRequest, ExchangeRun
from tools.fidelity.generated.script import Script, TopicNeed, act, group, pause, request, told, written
from tools.fidelity.generated.settings_classes import BASE, ORACLE
from tools.fidelity.guided.peer import Peer, parse_address

SETTINGS = {**BASE, **ORACLE}
MEMBER = {"group_id": group(1), "member_id": told("A", "member_id"), "group_instance_id": None}
JOIN = request(
    "A", 11, 9,
    {**MEMBER, "session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000, "protocol_type": "consumer",
     "protocols": [{"name": "range", "metadata": bytes(2)}]},
)  # fmt: skip
SYNC = request("A", 14, 4, {**MEMBER, "generation_id": told("A", "generation"), "assignments": written("led", "A", "A")})
STEPS = [JOIN, JOIN, pause(450), SYNC, act("A", "resets"), act("A", "reconnects"), JOIN, SYNC]
SCRIPT = Script("groups", 1, "4.3", "plain", [*STEPS], 1, [TopicNeed(2)])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Broker(profile="kafka-4.3", settings=SETTINGS, seed=1) as broker:
        yield broker.bootstrap


def judged(address: str) -> ExchangeRun:
    """Return a comparison run of the single script."""
    with Peer(*parse_address(address), "4.3") as peer:
        run = ExchangeRun(peer, ComparisonRequest("groups", "4.3", (1, 2)), io.StringIO())
        run.one(SCRIPT)
    return run


def test_a_member_joins_leads_and_comes_back_as_on_the_core(address: str) -> None:
    counts = judged(address).counts
    assert (counts.exchanges, counts.differences, counts.unstable) == (1, [], [])
    assert {cell[2] for cell in counts.cells if cell[0] == 11} == {"0", "79"}


def test_a_server_that_answers_otherwise_differs() -> None:
    with Broker(profile="kafka-4.3", settings={**SETTINGS, "group.max.session.timeout.ms": "1000"}, seed=1) as broker:
        (found,) = judged(broker.bootstrap).counts.differences
    assert (found.step, found.key, found.path, found.real, found.ours) == (0, 11, "error_code", 26, 79)


def test_settings_of_no_class_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(profile="kafka-4.3", settings={"group.min.session.timeout.ms": "7"}, seed=1) as broker:
        assert main(["run", "groups", "--broker", broker.bootstrap]) == 3
    assert "the broker's settings are of no class that scripts ask for" in capsys.readouterr().err


def test_seeds_of_another_class_alone_are_no_proof(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "groups", "--broker", address, "--seeds", "5", "6"]) == 2
    assert "no seed of these is for a broker of the settings 'plain'" in capsys.readouterr().err
