"""The transactions family generates the intended requests, and its answers are compared without their random parts."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest

from groupmock_clients.probe.language.exchange import Send
from groupmock_codec import APIS as MESSAGES
from groupmock_codec.markers import marker_batch
from groupmock_codec.records import TRANSACTIONAL_BIT, NewRecord, encode_batch
from tools.fidelity.compare.canonical import canonical, compare
from tools.fidelity.compare.counts import outcome
from tools.fidelity.families import family
from tools.fidelity.generated.answers_json import binary, unbinary
from tools.fidelity.generated.script import Script, key_of, request, version_of
from tools.fidelity.generated.settings_classes import BROKERS, known
from tools.fidelity.generated.transcript import ANSWERED, Event, imagined
from tools.fidelity.guided.core_player import play, replay

APIS: Final = (22, 24, 25, 26, 28, 61, 65, 66)
SEEDS: Final = range(120)
CODES: Final = {
    "4.4": {0, 1, 3, 24, 25, 42, 45, 47, 48, 49, 50, 51, 53, 69, 88, 90, 105, 120},
    "4.3": {0, 1, 3, 22, 24, 25, 42, 45, 47, 48, 49, 50, 51, 53, 88, 90, 105, 120, 128},
    "3.9": {0, 1, 3, 24, 25, 42, 45, 47, 48, 49, 50, 51, 53, 88, 90, 105, 120},
}
"""The error codes that must appear in at least one play."""


@pytest.fixture(scope="module", params=BROKERS)
def scripts(request: pytest.FixtureRequest) -> list[Script]:
    return [family("transactions")(seed, request.param) for seed in SEEDS]


def test_a_seed_always_makes_the_same_transactions(scripts: list[Script]) -> None:
    for script in scripts[:10]:
        assert family("transactions")(script.seed, script.release) == script


def test_every_version_of_every_api_of_transactions_is_asked(scripts: list[Script]) -> None:
    asked = {(key_of(step), version_of(step)) for script in scripts for step in script.steps if isinstance(step, Send)}
    versions = known(scripts[0].release, "quick").versions
    wanted = {(key, version) for key in APIS if key in versions for version in range(versions[key][0], versions[key][1] + 1)}
    assert wanted - asked == set()


def test_transactions_get_somewhere_and_much_goes_wrong(scripts: list[Script]) -> None:
    codes = Counter[str]()
    for script in scripts:
        first = play(script)
        assert compare(script, first, replay(script, first)) == [], f"seed {script.seed}"
        codes.update(code for event in first.events for code in outcome(event).split("+"))
    assert {str(code) for code in CODES[scripts[0].release]} - codes.keys() == set()


def fetched(*batches: bytes) -> dict[str, Any]:
    return {"responses": [{"partitions": [{"records": binary(b"".join(batches))}]}]}


def evened(key: int, answer: dict[str, Any]) -> Any:
    script = family("transactions")(0, "4.3")
    return canonical(request("A", key, MESSAGES[key].versions.lowest), Event(status=ANSWERED, answer=answer), imagined(script))


@pytest.mark.parametrize("cut", [200, 100, 62, 30])
def test_markers_lose_their_time_and_data_nothing(cut: int) -> None:
    """Transaction markers lose their timestamp in the comparison and data batches lose nothing, wherever a fetch cuts off the last
    batch."""
    data = encode_batch([NewRecord(value=b"v")], producer_id=7, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL_BIT)
    logs = [(data + marker_batch(True, 7, 0, 0, stamp).data)[:cut] for stamp in (1_700_000_000_000, 1_700_000_009_999)]
    told = [unbinary(evened(1, fetched(log))["responses"][0]["partitions"][0]["records"]) for log in logs]
    assert told[0] == told[1]
    assert cut < len(data) or told[0][: len(data)] == data


def test_a_refusal_by_a_coordinator_is_one_of_two() -> None:
    rows = [{"error_code": code, "error_message": "why"} for code in (48, 120)]
    told = evened(0, {"responses": [{"partition_responses": rows}]})["responses"][0]["partition_responses"]
    assert told == [{"error_code": 48, "error_message": None}] * 2


def test_others_transactional_ids_are_left_out() -> None:
    script = family("transactions")(0, "4.3")
    mine = [{"transactional_id": f"{imagined(script).groups[0]}-x{number}"} for number in (2, 1)]
    told = evened(66, {"transaction_states": [*mine, {"transactional_id": "another"}]})
    assert told == {"transaction_states": mine[::-1]}
