"""What tests of the network side share: one raw connection on the test's loop, and a sink that keeps every row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE_S = 60


async def until(done: Callable[[], object]) -> None:
    """Turns of the loop until it is so; TimeoutError after PATIENCE_S."""
    async with asyncio.timeout(PATIENCE_S):
        while not done():  # noqa: ASYNC110  # what is waited for is a state, there is no event
            await asyncio.sleep(0.001)


class RawWire:
    """Frames out, frames in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def receive(self) -> bytes:
        """The next frame without its length."""
        async with asyncio.timeout(PATIENCE_S):
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            return await self.reader.readexactly(size)

    async def ask(self, data: bytes) -> bytes:
        self.send(data)
        return await self.receive()

    async def ended(self) -> bytes:
        """Everything until FIN; an RST raises."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()
