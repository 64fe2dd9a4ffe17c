"""groupmock gives members of share groups the same answers as Apache Kafka 4.4.0, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from log_world import batch
from share_world import ShareWorld

from groupmock_codec import APIS
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest

DATA: Final = Path(__file__).resolve().parents[4] / "data" / "share_exchanges.json"
HOST: Final = "/127.0.0.1"
ORDERS, MAILS = "orders-17dc80", "mails-17dc80"
PARTIAL: Final = "alice, afterwards"
OTHERWISE: Final = {
    PARTIAL: "the recorded broker had initialised one of the two topics by then; here the background initialises both at once",
    "share coordinator": "this world has no share.version, so no share coordinator; test_share_version.py has the answer",
}
"""Note of an exchange -> the reason why its answer differs."""


def test_every_answer_about_a_share_group_is_kafkas() -> None:
    recorded = json.loads(DATA.read_text())
    world = ShareWorld(topics=False, group_share_max_size=8)
    ids = {ORDERS: "f326358ee3f942cb952cf7ce8084fc69", MAILS: "55fe964994054f4ab4071138099e4984"}
    world.topics.add(world.turn(), ORDERS, [[1], [1]], {}, bytes.fromhex(ids[ORDERS]))
    world.topics.add(world.turn(), MAILS, [[1]], {}, bytes.fromhex(ids[MAILS]))
    world.append(batch(*[b"v"] * 18), topic=ORDERS)
    wrong = [each["note"] for each in recorded["exchanges"] if _asked(each) and _answer(world, each) != each["response"]]
    assert wrong == list(OTHERWISE)


def _asked(exchange: dict[str, Any]) -> bool:
    """Leave out the exchanges about records, and what they do to the stored states: the tests of share partitions have them."""
    return exchange["key"] not in (78, 79) and exchange["story"] != "2 records"


def _answer(world: ShareWorld, exchange: dict[str, Any]) -> str:
    if exchange["note"] == PARTIAL:
        world.sleep(1)
    if exchange["note"] == "alter offsets of a group with members":
        _send(world, ShareGroupHeartbeatRequest("other-17dc80", "dave", subscribed_topic_names=[ORDERS]))
        world.sleep(1)
    if exchange["note"] == "of an empty one":
        _send(world, ShareGroupHeartbeatRequest("other-17dc80", "dave", -1))
    api, version = APIS[exchange["key"]], exchange["version"]
    request = api.request.decode(version, bytes.fromhex(exchange["request"]))
    sent = world.rig.send(api.key, version, request, client_id="c", client_host=HOST)
    return api.response.encode(version, world.answers[sent.ticket]).hex()


def _send(world: ShareWorld, request: ShareGroupHeartbeatRequest) -> None:
    world.rig.send(76, 1, request, client_id="c", client_host=HOST)
