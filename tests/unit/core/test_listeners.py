"""A client of one of several listeners gets the addresses of that listener (KIP-103; docs/kafka/security.md, SEC-66)."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from cases import for_each

from groupmock.core.core import Core, core_of
from groupmock.core.effects import Reply
from groupmock.core.events import Request
from groupmock.core.identity import Identity, Listener, Node
from groupmock.core.ingredients import Ingredients, describe, rebuild
from groupmock.core.settings import Settings
from groupmock_codec import APIS
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsResource

INSIDE, OUTSIDE = "PLAINTEXT", "OUTSIDE"
NODES = (Node(1, "in", 9092), Node(2, "in", 9093))
LISTENERS = (
    *(Listener(INSIDE, "PLAINTEXT", node.node_id, node.host, node.port) for node in NODES),
    *(Listener(OUTSIDE, "PLAINTEXT", node.node_id, "out", 19000 + node.node_id, f"0.0.0.0:{29000 + node.node_id}") for node in NODES),
)
ADDRESSES = {INSIDE: {1: ("in", 9092), 2: ("in", 9093)}, OUTSIDE: {1: ("out", 19001), 2: ("out", 19002)}}


def core(*listeners: Listener) -> Core:
    return core_of(Settings(), Identity("c", NODES, (), listeners=listeners), Random(1), 0)


def ask(core: Core, listener: str, api: int, version: int, **fields: Any) -> Any:
    message = APIS[api].request.message(**fields)
    effects = core.handle(Request(1, 1, 1, api, version, "c", "/127.0.0.1", message, listener), 0)
    (reply,) = (effect for effect in effects if isinstance(effect, Reply))
    return reply.message


@for_each("listener", [INSIDE, OUTSIDE])
def test_nodes_are_told_by_the_addresses_of_the_listener(listener: str) -> None:
    cluster, told = core(*LISTENERS), ADDRESSES[listener]
    metadata = ask(cluster, listener, 3, 12, topics=[])
    described = ask(cluster, listener, 60, 0)
    assert {row.node_id: (row.host, row.port) for row in metadata.brokers} == told
    assert {row.broker_id: (row.host, row.port) for row in described.brokers} == told
    for group in ("a", "b", "c", "d"):
        found = ask(cluster, listener, 10, 2, key=group)
        assert (found.host, found.port) == told[found.node_id]


def test_configs_name_all_listeners() -> None:
    wanted = DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=["listeners", "advertised.listeners"])
    (found,) = ask(core(*LISTENERS), INSIDE, 32, 1, resources=[wanted]).results
    assert {config.name: config.value for config in found.configs} == {
        "listeners": "PLAINTEXT://in:9092,OUTSIDE://0.0.0.0:29001",
        "advertised.listeners": "PLAINTEXT://in:9092,OUTSIDE://out:19001",
    }


@for_each("listeners", [(), LISTENERS])
def test_a_header_is_read_back(listeners: tuple[Listener, ...]) -> None:
    described = msgspec.json.decode(msgspec.json.encode(describe(core(*listeners).environment)))
    assert rebuild(described, Random(1)).environment.identity == Identity("c", NODES, (), listeners=listeners)


def test_a_header_without_further_listeners_is_what_it_was_before_there_were_any() -> None:
    environment = core().environment
    assert len(describe(environment)["identity"]) == len(Identity._fields) - 1
    assert msgspec.convert(describe(environment), Ingredients).identity.listeners == ()
