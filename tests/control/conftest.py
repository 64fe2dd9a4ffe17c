"""Start a cluster with its control API on the test's event loop and a client for the API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from groupmock.config.resolve import resolve
from groupmock.control.server import Control
from groupmock.control.start import start_control
from groupmock.rig.wire import AsyncClient, request
from groupmock.server.assembly import start
from groupmock_codec import APIS
from groupmock_codec.messages.k11_join_group import JoinGroupRequestProtocol

RANGE = [JoinGroupRequestProtocol(name="range", metadata=b"")]


def frame(key: int, version: int, client: str, **fields: object) -> bytes:
    """Return an encoded request including its length prefix."""
    return request(key, version, APIS[key].request.message(**fields), client_id=client)


class Api:
    def __init__(self, control: Control, session: aiohttp.ClientSession) -> None:
        self.control, self.session = control, session
        self.wires: list[AsyncClient] = []

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        data = {"json": body} if isinstance(body, dict | list) else {"data": body}
        async with self.session.request(method, self.control.url + path, **data, **more) as answer:
            return answer.status, await (answer.json() if answer.content_type == "application/json" else answer.text())

    async def get(self, path: str, **query: Any) -> Any:
        """Return the answer to a GET that must succeed."""
        status, answer = await self.ask("GET", path, params=query)
        assert status == 200, answer
        return answer

    async def post(self, path: str, /, **body: Any) -> Any:
        """Return the answer to a POST that must succeed."""
        status, answer = await self.ask("POST", path, body)
        assert status == 200, answer
        return answer

    async def join(self, group: str = "g", client: str = "a", instance: str | None = None) -> AsyncClient:
        """Send a JoinGroup to the group's coordinator, version 5 with an instance id and version 3 without."""
        cluster = self.control.running.cluster
        port = self.control.running.ports[(cluster.groups.hosting.node_of(group) or 1) - 1]
        wire = AsyncClient(*await asyncio.open_connection("127.0.0.1", port))
        self.wires.append(wire)
        timeouts = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000}
        fields = {"group_id": group, "protocol_type": "consumer", "protocols": RANGE} | timeouts
        named = {"group_instance_id": instance} if instance else {}
        wire.write(frame(11, 5 if instance else 3, client, **fields, **named))
        return wire

    async def stable(self, group: str = "g", **who: Any) -> AsyncClient:
        """Create a group with one member and wait until the group is Stable."""
        wire = await self.join(group, **who)
        joined = APIS[11].response.decode(5 if who.get("instance") else 3, (await wire.receive())[4:])
        wire.write(frame(14, 3, "a", group_id=group, generation_id=joined.generation_id, member_id=joined.member_id,
                        group_instance_id=who.get("instance")))  # fmt: skip
        await wire.receive()
        return wire


@asynccontextmanager
async def opened(settings: Sequence[tuple[str, str]] = (), **flags: Any) -> AsyncIterator[Api]:
    """Start a cluster of two nodes with one topic and its control API."""
    config = resolve({"port": 0, "control": "0", "nodes": 2, "topic": ("orders:2",), "seed": 1, "log": "off"} | flags, settings)
    running = await start(config, stories=True)
    control = await start_control(config, running)
    headers = {"Authorization": f"Bearer {config.token}"} if config.token else {}
    async with aiohttp.ClientSession(headers=headers) as session:
        api = Api(control, session)
        yield api
        for wire in api.wires:
            wire.writer.close()
    await control.close()
    assert await control.running.close() is None


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with opened() as found:
        yield found


@pytest.fixture
def open_api() -> Callable[..., Any]:
    return opened
