"""groupmock gives members of consumer groups the same answers as Apache Kafka 4.3.0, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from consumer_world import ConsumerWorld

from groupmock.config import profiles
from groupmock.core.settings import Quirks
from groupmock_codec import APIS
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

DATA: Final = Path(__file__).resolve().parents[4] / "data" / "consumer_group_exchanges.json"
HOST: Final = "/127.0.0.1"
MIXED: Final = "classic join into a consumer group: 79"
OTHERWISE: Final = {
    "v0 join without member id": "the id is drawn",
    "group setting": "the recorded broker was started with other bounds; test_group_configs.py has these answers",
    "group settings described": "likewise",
    MIXED: "the id is drawn",
}
"""Note of an exchange -> the reason why its answer differs."""


def test_every_answer_is_kafkas() -> None:
    recorded = json.loads(DATA.read_text())
    quirks = Quirks(**dict.fromkeys(profiles.load("kafka-4.3").quirks, True))
    world = ConsumerWorld(topics=False, group_consumer_max_size=8, quirks=quirks)
    for name, topic in recorded["topics"].items():
        world.topics.add(world.turn(), name, [[1]] * topic["partitions"], {}, bytes.fromhex(topic["id"]))
    wrong = [each["note"] for each in recorded["exchanges"] if _answer(world, each) != each["response"]]
    assert wrong == list(OTHERWISE)


def _answer(world: ConsumerWorld, exchange: dict[str, Any]) -> str:
    if exchange["note"] == MIXED:  # In this recorded exchange the group has a member of the consumer protocol from the beginning.
        joined = ConsumerGroupHeartbeatRequest("group-6", "member-X", rebalance_timeout_ms=30_000, topic_partitions=[])
        joined.subscribed_topic_names = ["t6"]
        world.rig.send(68, 1, joined, client_id="c", client_host=HOST)
    api, version = APIS[exchange["key"]], exchange["version"]
    request = api.request.decode(version, bytes.fromhex(exchange["request"]))
    sent = world.rig.send(api.key, version, request, client_id="c", client_host=HOST)
    world.sleep(1)  # The pause lets the background work of a recorded broker finish.
    return api.response.encode(version, world.answers[sent.ticket]).hex()
