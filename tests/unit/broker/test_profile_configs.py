"""DescribeConfigs of a served profile shows Kafka's defaults and no defaults of groupmock."""

from __future__ import annotations

from typing import Any

import pytest
from raw_member import RawMember

from groupmock import Broker
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource

BROKER, STATIC = 4, 4
HOST = {"advertised.listeners", "listeners", "broker.id", "node.id", "process.roles"}
"""Configs that tell a broker its own addresses, id and role."""


def told(broker: Broker) -> list[Any]:
    resource = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None)
    answer: Any = RawMember.ask_once(broker.bootstrap, 32, 3, DescribeConfigsRequest(resources=[resource]))
    configs: list[Any] = answer.results[0].configs
    return configs


def started_with(broker: Broker) -> dict[str, str]:
    """Return the configs with which node 1 was started and that differ from Kafka's defaults."""
    return {one.name: one.value for one in told(broker) if one.config_source == STATIC}


@pytest.mark.parametrize("profile", ["kafka-4.3", "kafka-3.9"])
def test_a_release_was_started_with_kafkas_defaults(profile: str) -> None:
    with Broker(profile=profile) as broker:
        assert started_with(broker).keys() - HOST == set()


def test_the_default_profile_says_what_it_bounds() -> None:
    with Broker() as broker:
        found = started_with(broker)
    assert {name: value for name, value in found.items() if name not in HOST} == {
        "group.initial.rebalance.delay.ms": "100",
        "group.min.session.timeout.ms": "100",
        "group.streams.initial.rebalance.delay.ms": "100",
        "log.retention.bytes": "67108864",
        "queued.max.request.bytes": "1073741824",
    }


def test_limits_of_sockets_are_told_and_an_address_that_is_not_the_advertised_one() -> None:
    with Broker(profile="kafka-4.3", advertise="localhost", settings={"socket.request.max.bytes": 5_000_000}) as broker:
        port = broker.advertised.removeprefix("localhost:")
        found = started_with(broker)
    assert (found["socket.request.max.bytes"], found["advertised.listeners"]) == ("5000000", f"PLAINTEXT://localhost:{port}")
    assert found["listeners"] == f"PLAINTEXT://127.0.0.1:{port}"
