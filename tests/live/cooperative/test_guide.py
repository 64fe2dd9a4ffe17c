"""The ten lines of docs/how-to/cooperative.md run unchanged: two services share a topic, and a third takes over from one that ends."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from groupmock import Broker

GUIDE = Path(__file__).resolve().parents[3] / "docs/how-to/cooperative.md"


def consume_of_the_guide() -> Any:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line and not line.startswith(("from ", "async def"))]) <= 10
    names: dict[str, Any] = {}
    exec(compile(code, str(GUIDE), "exec"), names)
    return names["consume"]


async def test_the_guides_service_runs() -> None:
    consume = consume_of_the_guide()
    seen: set[int] = set()
    told: list[tuple[str, int]] = []

    class Listener:
        def on_partitions_revoked(self, revoked: Any) -> None:
            told.append(("revoked", len(revoked)))

        def on_partitions_assigned(self, assigned: Any) -> None:
            told.append(("assigned", len(assigned)))

    async def handle(record: Any) -> None:
        seen.add(record.partition)

    async with Broker(topics={"orders": 4}, seed=1) as broker:
        services = [asyncio.create_task(consume(broker.bootstrap, Listener(), handle)) for _ in range(2)]
        async with asyncio.timeout(60):
            while sum(count if what == "assigned" else -count for what, count in told) != 4:  # noqa: ASYNC110  # a state, not an event
                await asyncio.sleep(0.01)
            await broker.wait_for("billing", state="Stable", members=2)
            # The loop goes on until a later record came, because aiokafka starts at the log end and never receives records written before.
            while seen != {0, 1, 2, 3}:
                for number in range(4):
                    await broker.produce("orders", value=b"an order", partition=number)
                await asyncio.sleep(0.05)
        for service in services:
            service.cancel()
        await asyncio.gather(*services, return_exceptions=True)
