"""Who deletes topics does so alone, on a broker where that reaches everybody's groups.

The old coordinator looks at every group whenever a topic is deleted, and forgets those that are Empty and have no offsets (quirk
`deleted_topic_ends_idle_groups`; GroupCoordinator.handleDeletedPartitions). So plays beside each other would disturb each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from groupmock_codec.api_keys import DELETE_TOPICS

from ..script.script import Script, Send
from ..script.settings_classes import known


class Alone:
    """Many beside each other, or one alone: who waits to be alone is let in before more of the others are."""

    def __init__(self, release: str, settings: str = "plain") -> None:
        self.needed = "deleted_topic_ends_idle_groups" in known(release, settings).profile.quirks
        """Is there such a need on that release?"""
        self._beside = 0
        self._waiting = 0
        self._taken = False
        self._changed = asyncio.Condition()

    def turn(self, script: Script) -> AbstractAsyncContextManager[None]:
        """When that script may be played."""
        if not self.needed:
            return nullcontext()
        deletes = any(isinstance(step, Send) and step.key == DELETE_TOPICS for step in script.steps)
        return self.alone() if deletes else self._with_others()

    @asynccontextmanager
    async def _with_others(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._waiting)
            self._beside += 1
        try:
            yield
        finally:
            async with self._changed:
                self._beside -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Nobody plays meanwhile."""
        self._waiting += 1
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: not self._beside and not self._taken)
                self._taken = True
            yield
        finally:
            async with self._changed:
                self._waiting -= 1
                self._taken = False
                self._changed.notify_all()
