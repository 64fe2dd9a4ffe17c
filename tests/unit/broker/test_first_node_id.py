"""The first node of a cluster may have another id than 1, because tests of clients often expect a single broker 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupmock import Broker, CannotSteer, ConfigError
from groupmock.cli import main
from groupmock.config.resolve import resolve
from groupmock.rig.replay import replay
from groupmock.rig.wire import Client
from groupmock.server.node_sockets import doors_of, port_of
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource

BROKER = 4
"""Kafka's number of the config resource type BROKER."""


def client(broker: Broker, node: int = 0) -> Client:
    host, _, port = broker.bootstrap.split(",")[node].rpartition(":")
    return Client(host, int(port))


def test_nodes_count_on_from_the_first(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    with Broker(topics="orders:6", nodes=3, first_node_id=0, racks=["a", "b", "c"], journal=journal, seed=1) as broker:
        with client(broker) as asker:
            told = asker.ask(3, 9, MetadataRequest(topics=None))
            assert [(each.node_id, each.rack) for each in told.brokers] == [(0, "a"), (1, "b"), (2, "c")]
            assert ",".join(f"{each.host}:{each.port}" for each in told.brokers) == broker.bootstrap
            assert told.controller_id == 0 and {part.leader_id for part in told.topics[0].partitions} == {0, 1, 2}
            found = {asker.ask(10, 2, FindCoordinatorRequest(key=f"g{place}", key_type=0)).node_id for place in range(20)}
            assert found == {0, 1, 2}
        assert broker.add_node() == 3
        broker.move_leader("orders", 0, 0)
        broker.stop_node(0)
        broker.start_node(0)
        with pytest.raises(CannotSteer, match=r"^no node 4: there are 0 to 3$"):
            broker.stop_node(4)
    assert replay(journal).difference is None


def test_configs_of_node_0_are_its_own() -> None:
    name = "log.retention.ms"
    with Broker(nodes=2, first_node_id=0) as broker, client(broker) as asker:
        broker.configure_node(0, {name: "1000"})
        broker.configure_node(-1, {name: "2000"})
        resource = DescribeConfigsResource(resource_type=BROKER, resource_name="0", configuration_keys=[name])
        (answer,) = asker.ask(32, 4, DescribeConfigsRequest(resources=[resource])).results
        assert [each.value for each in answer.configs] == ["1000"]
        assert [broker.node_configs(node)[name].value for node in (0, 1, -1)] == ["1000", "2000", "2000"]


def test_configs_of_0_are_those_of_all_where_no_node_is_0() -> None:
    with Broker(nodes=2) as broker:
        broker.configure_node(0, {"log.retention.ms": "2000"})
        assert [broker.node_configs(node)["log.retention.ms"].value for node in (0, 1, 2, -1)] == ["2000"] * 4


@pytest.mark.parametrize("kind", ["stop_node", "stall_node"])
def test_fault_means_node_0_where_it_says_so(kind: str, tmp_path: Path) -> None:
    """Node 0 must not be mistaken for a missing node, which means the node that received the request."""
    plan = {"rule": [{"name": "strike", "when": {"api": "FindCoordinator", "version": "1-"}, "do": {"kind": kind, "node": 0}}]}
    journal = tmp_path / "j.jsonl"
    with Broker(nodes=2, first_node_id=0, plan=plan, journal=journal) as broker, client(broker, 1) as asker:
        asker.ask(10, 2, FindCoordinatorRequest(key="g", key_type=0))
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [row["arguments"]["node"] for row in rows if row.get("name") == kind] == [0]


def test_ports_and_advertised_ports_count_from_the_first_node() -> None:
    config = resolve({"first-node-id": "7", "nodes": "3", "port": "9092"})
    assert [port_of(config, doors_of(config)[0], node) for node in (7, 8, 9)] == [9092, 9093, 9094]


def test_first_node_id_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="first_node_id"):
        Broker(first_node_id=-1)
    assert main(["serve", "--first-node-id", "x"]) == 2
    assert "--first-node-id" in capsys.readouterr().err
