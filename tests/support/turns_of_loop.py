from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE_S = 60


async def until(done: Callable[[], object]) -> None:
    """Wait on the event loop until a condition holds; raises TimeoutError after PATIENCE_S."""
    async with asyncio.timeout(PATIENCE_S):
        while not done():  # noqa: ASYNC110  # what is waited for is a state, there is no event
            await asyncio.sleep(0.001)
