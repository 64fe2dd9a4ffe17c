"""Commands over HTTP add nodes, move leaders and coordinators at once, and compact logs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from groupmock import Broker
from groupmock.core.steering import NotNow
from groupmock.rig.replay import replay
from groupmock.rig.wire import AsyncClient, Client
from groupmock_codec.messages.k03_metadata import MetadataRequest


def nodes_told(port: int) -> list[tuple[int, int, str | None]]:
    """Return id, port and rack of the nodes in the Metadata answer of the node at `port`."""
    with Client("127.0.0.1", port) as client:
        return [(each.node_id, each.port, each.rack) for each in client.ask(3, 9, MetadataRequest(topics=[])).brokers]


async def test_a_node_is_added_and_answers(api: Any) -> None:
    added = await api.post("/v1/nodes", rack="far")
    assert added["id"] == 3
    nodes = (await api.get("/v1/health"))["nodes"]
    assert [(each["id"], each["state"], each["rack"]) for each in nodes] == [
        (1, "running", None),
        (2, "running", None),
        (3, "running", "far"),
    ]
    client = await AsyncClient.connect("127.0.0.1", added["port"])
    answer = await client.ask(3, 9, MetadataRequest(topics=[]))
    client.close()
    assert [each.node_id for each in answer.brokers] == [1, 2, 3]
    await api.post("/v1/nodes/3/stop")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", added["port"])
    await api.post("/v1/reset")
    assert len((await api.get("/v1/health"))["nodes"]) == 2, "a reset forgets it"


async def test_leaders_and_coordinators_move_at_once(api: Any) -> None:
    await api.post("/v1/leaders/move-all", to=2)
    await api.post("/v1/coordinators/move-all", to=1)
    first, second = (await api.get("/v1/health"))["nodes"]
    assert (first["coordinates"], second["leads"]) == (50, 2)
    status, answer = await api.ask("POST", "/v1/leaders/move-all", {"to": 2})
    assert (status, answer["error"].split(":")[0]) == (409, "no leader can be moved")


async def test_a_topic_is_compacted_and_its_facts_say_so(api: Any) -> None:
    await api.post("/v1/topics", name="prices", configs={"cleanup.policy": "compact"})
    lines = "".join(f'{{"key": "{key}", "value": "{at}"}}\n' for at, key in enumerate("ababa"))
    assert (await api.ask("POST", "/v1/topics/prices/records", lines))[0] == 200
    await api.post("/v1/topics/prices/compact", roll=True)
    assert [(each["offset"], each["key"]) for each in (await api.get("/v1/topics/prices/records"))["records"]] == [(3, "b"), (4, "a")]
    (facts,) = (await api.get("/v1/topics/prices"))["partitions"]
    assert (facts["start_offset"], facts["end_offset"], [each["base_offset"] for each in facts["segments"]]) == (0, 5, [0, 5])


async def test_a_replica_lags_and_catches_up(open_api: Any) -> None:
    async with open_api(nodes=2, racks="a,b") as api:
        await api.post("/v1/topics", name="t", replication_factor=2)
        (facts,) = (await api.get("/v1/topics/t"))["partitions"]
        follower = facts["replicas"][1]
        await api.post("/v1/topics/t/lag", partition=0, node=follower)
        assert (await api.get("/v1/topics/t"))["partitions"][0]["isr"] == facts["replicas"][:1]
        await api.post("/v1/topics/t/catch-up", partition=0, node=follower)
        assert (await api.get("/v1/topics/t"))["partitions"][0]["isr"] == facts["replicas"]


def test_the_same_in_process_is_replayed(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with Broker(topics={"t": 2}, racks=["a"], journal=str(journal), seed=3) as broker:
        port = int(broker.bootstrap.rpartition(":")[2])
        assert nodes_told(port) == [(1, port, "a")]
        assert broker.add_node(rack="b") == 2
        first, second = (int(each.rpartition(":")[2]) for each in broker.bootstrap.split(","))
        assert nodes_told(second) == [(1, first, "a"), (2, second, "b")]
        broker.move_leaders(to=2)
        broker.move_coordinators(to=2)
        broker.configure_topic("t", {"cleanup.policy": "compact,delete"})
        for at in range(3):
            broker.produce("t", value=str(at), key="k")
        broker.compact("t", partition=0, roll=True)
        assert [(each.offset, each.value) for each in broker.records("t", 0)] == [(2, b"2")]
        broker.set_next_offset("t", 1, 9)
        broker.retain("t")
        with pytest.raises(NotNow, match="cannot listen on"):
            broker.add_node(port=first)
    assert replay(journal).difference is None


def test_a_port_for_each_node_that_is_added() -> None:
    with Broker(nodes=2) as broker, Broker() as other:
        assert broker.add_node(port=0) == 3
        assert len({*broker.bootstrap.split(","), other.bootstrap}) == 4


async def test_health_says_once_which_clients_were_not_let_in(api: Any) -> None:
    assert (await api.get("/v1/health"))["not_let_in"] == []
    reader, writer = await asyncio.open_connection("127.0.0.1", api.control.running.ports[0])
    writer.write(b"\x16\x03\x01\x02\x00\x01")
    assert await reader.read() == b""
    writer.close()
    for _ in range(2):
        (told,) = (await api.get("/v1/health"))["not_let_in"]
        assert "spoke TLS" in told and told.endswith("Set security.protocol to PLAINTEXT, or SASL_PLAINTEXT with SASL")
