"""Long answers are made in parts, between which the loop serves Kafka's clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

T = TypeVar("T")
AT_ONCE: Final = 200
"""The number of items that are handled before the loop gets a turn; an item takes up to 20 us."""


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield the items of the present moment, and let the loop serve Kafka's clients now and then. Items may have been removed before
    they are yielded."""
    for count, item in enumerate(list(items), 1):
        yield item
        if not count % AT_ONCE:
            await asyncio.sleep(0)
