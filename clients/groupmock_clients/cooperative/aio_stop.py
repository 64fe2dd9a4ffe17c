"""Stopping an aiokafka consumer to its end, also where a fetch of it has failed."""

from __future__ import annotations

import asyncio
from typing import Any


async def stop_wholly(consumer: Any) -> None:
    """`consumer.stop()`, and the rest of it where a failed fetch waits for its next attempt.

    aiokafka 0.14 cancels such a fetch and awaits it, and it does not expect to be cancelled there (Fetcher.close,
    Fetcher._proc_fetch_request): stop() ends with a CancelledError though nobody cancelled the caller, and its connections stay open.
    A cancellation of the caller passes.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    try:
        await consumer.stop()
    except asyncio.CancelledError:
        if task and task.cancelling() > before:
            raise
        await consumer._client.close()
