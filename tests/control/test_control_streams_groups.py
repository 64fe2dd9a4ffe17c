"""Streams groups over HTTP: waits for their states and members, their view, and the commands that apply to them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from streams_world import PLAIN

from groupmock.rig.wire import AsyncClient, request
from groupmock_codec import APIS


class Thread:
    """A member of the streams group app, on a connection of its own to the group's coordinator."""

    def __init__(self, api: Any, wire: AsyncClient, name: str) -> None:
        self.api, self.wire, self.name, self.epoch = api, wire, name, 0

    async def beat(self, **fields: Any) -> Any:
        asked = {"group_id": "app", "member_id": f"{self.name}-1", "member_epoch": self.epoch, **fields}
        self.wire.write(request(88, 1, APIS[88].request.message(**asked), client_id=self.name))
        answer: Any = APIS[88].response.decode(1, (await self.wire.receive())[5:])
        if not answer.error_code:
            self.epoch = answer.member_epoch
        return answer

    async def join(self) -> Any:
        empty: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        return await self.beat(topology=PLAIN, process_id=self.name, rebalance_timeout_ms=30_000, client_tags=[], **empty)


@pytest.fixture
async def anna(api: Any) -> Thread:
    """Return a thread of an application that reads the topic `t`, whose tasks are assigned as soon as the topic exists."""
    await api.post("/v1/groups/app/configs", set={"streams.initial.rebalance.delay.ms": "0", "streams.assignment.interval.ms": "0"})
    running = api.control.running
    node = running.cluster.groups.hosting.node_of("app")
    wire = AsyncClient(*await asyncio.open_connection("127.0.0.1", running.ports[node - 1]))
    api.wires.append(wire)
    return Thread(api, wire, "anna")


async def test_waits_for_states_and_members_of_a_streams_group(api: Any, anna: Thread) -> None:
    waiting = asyncio.ensure_future(api.get("/v1/groups/app/wait", state="NotReady", members=1, timeout=60))
    await anna.join()
    assert (await waiting)["state"] == "NotReady"
    status, answer = await api.ask("GET", "/v1/groups/app/wait?state=Stable&timeout=0")
    assert status == 408
    assert "topics that go with the topology" in answer["error"]
    await api.post("/v1/topics", name="t", partitions=2)
    waiting = asyncio.ensure_future(api.get("/v1/groups/app/wait", state="Stable", member="anna", assignment="t", generation=3, timeout=60))
    found = await anna.beat()
    assert [(each.subtopology_id, each.partitions) for each in found.active_tasks] == [("0", [0, 1])]
    view = await waiting
    (member,) = view["members"]
    assert (view["protocol_type"], view["state"], member["client_id"], member["assignment"]) == ("streams", "Stable", "anna", {"t": [0, 1]})


async def test_member_of_a_streams_group_is_expired_by_command(api: Any, anna: Thread) -> None:
    await api.post("/v1/topics", name="t", partitions=2)
    await anna.join()
    await api.post("/v1/groups/app/expire", member="anna")
    await api.get("/v1/groups/app/wait", state="Empty", members=0)
    assert (await anna.beat()).error_code == 25
    status, answer = await api.ask("POST", "/v1/groups/app/rebalance", {})
    assert status in (400, 409)
    assert "streams" in answer["error"]
