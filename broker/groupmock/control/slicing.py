"""Long answers are made in slices, so that Kafka's clients are served meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

T = TypeVar("T")
AT_ONCE: Final = 200
"""Of what takes up to 20 us each."""


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """The items that there are now, with a turn of the loop every so many. Some may be gone by the time that they are handed out."""
    for count, item in enumerate(list(items), 1):
        yield item
        if not count % AT_ONCE:
            await asyncio.sleep(0)
