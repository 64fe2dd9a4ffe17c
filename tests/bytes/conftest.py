"""Start a whole server (real core, Kafka 4.3 profile) on the test's event loop and talk to it over raw sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

import pytest
import uvloop
from turns_of_loop import until

from groupmock.config.resolve import resolve
from groupmock.core.turn import Turn
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import AsyncClient
from groupmock.server.assembly import start
from groupmock.server.running import Running


@dataclass
class Stand:
    running: Running
    rows: KeptRows
    wires: list[AsyncClient] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.running.cluster.environment.identity.nodes[0].port

    async def wire(self) -> AsyncClient:
        wire = AsyncClient(*await asyncio.open_connection("127.0.0.1", self.port))
        self.wires.append(wire)
        return wire

    def topic(self, name: str) -> None:
        """Create a topic of one partition, for which the journal gets no row."""
        self.running.cluster.topics.create(Turn(self.running.core.environment, 0, []), name, 1)

    until = staticmethod(until)


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run every test on the default event loop, and the tests of flow control on both loops, because the loops differ there."""
    both = {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}
    return both if "bad_peers" in item.nodeid else {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def stand(request: pytest.FixtureRequest) -> AsyncIterator[Stand]:
    """Start a server whose settings come from `@pytest.mark.parametrize("stand", [{"setting": value}], indirect=True)`."""
    settings = {"group.initial.rebalance.delay.ms": 0, **getattr(request, "param", {})}
    running = await start(resolve({"port": 0, "log": "off", "seed": 1, "profile": "kafka-4.3"}, list(settings.items())))
    made = Stand(running, KeptRows(heartbeats=True))
    running.server.journal.add(made.rows)
    yield made
    for wire in made.wires:
        wire.writer.close()
    trouble = await running.close()
    assert trouble is None
    defects = [row.fields for row in made.rows.of("note") if row.what == "internal error"]
    assert not defects, defects
