"""groupmock gives members of streams groups the same answers as Apache Kafka 4.4.0, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from streams_world import StreamsWorld

from groupmock_codec import APIS

DATA: Final = Path(__file__).resolve().parents[4] / "data" / "streams_exchanges.json"
SETTINGS: Final = {
    "initial delay: epoch 1, status 5": ("app-4", {"streams.initial.rebalance.delay.ms": "1500"}),
    "standbys: the first member alone": ("app-5", {"streams.num.standby.replicas": "1"}),
}
"""Note of an exchange -> the group and the settings that the recording client gave it before."""
LATER: Final = {"A again: ready, everything", "the delay is over"}
"""Notes of the exchanges before which time passed."""
HOST: Final = "/127.0.0.1"


def test_every_answer_about_a_streams_group_is_kafkas() -> None:
    recorded = json.loads(DATA.read_text())
    world = StreamsWorld(topics=False)
    world.topic("orders", 6)
    world.topic("users", 4)
    world.topic("app-5-s-changelog", 4)
    wrong = [each["note"] for each in recorded["exchanges"] if _answer(world, each) != each["response"]]
    assert wrong == []


def _answer(world: StreamsWorld, exchange: dict[str, Any]) -> str:
    if exchange["note"] in SETTINGS:
        group_id, settings = SETTINGS[exchange["note"]]
        world.command("configure_group", group=group_id, set=settings)
    if exchange["note"] in LATER:
        world.sleep(2000)
    api, version = APIS[exchange["key"]], exchange["version"]
    request = api.request.decode(version, bytes.fromhex(exchange["request"]))
    sent = world.rig.send(api.key, version, request, client_id="c", client_host=HOST)
    return api.response.encode(version, world.answers[sent.ticket]).hex()
