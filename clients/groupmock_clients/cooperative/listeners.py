"""Telling a user's listener, whose methods may be coroutines or missing; and what the twins subscribe with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol


async def tell(listener: object, name: str, partitions: Iterable[Any]) -> None:
    """Call `listener.name` with a set of the library's TopicPartition and await what can be awaited; nothing without such a method.

    Raises what the method raises.
    """
    callback: Callable[[set[Any]], Any] | None = getattr(listener, name, None)
    if callback is not None:
        answer = callback(set(partitions))
        if inspect.isawaitable(answer):
            await answer


def lost_or_revoked(listener: object) -> str:
    """What an expelled member's listener is told by: one without on_partitions_lost hears that they were revoked."""
    return "on_partitions_lost" if hasattr(listener, "on_partitions_lost") else "on_partitions_revoked"


class Twin(Protocol):
    """What a twin consumer does when partitions move."""

    _user: Any

    async def hand_over(self, partitions: Iterable[Any], commit: bool) -> None: ...
    async def take_over(self, partitions: Iterable[Any], told: Callable[[], Awaitable[None]]) -> None: ...


class Moves:
    """The listener of a twin's membership: what moves is done to its data consumer first, then the user is told."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin

    async def on_partitions_revoked(self, revoked: set[Any]) -> None:
        """They go to another member: delivery ends and is committed."""
        await self._twin.hand_over(revoked, commit=True)
        await tell(self._twin._user, "on_partitions_revoked", revoked)

    async def on_partitions_lost(self, lost: set[Any]) -> None:
        """They are another member's already: delivery ends."""
        await self._twin.hand_over(lost, commit=False)
        await tell(self._twin._user, lost_or_revoked(self._twin._user), lost)

    async def on_partitions_assigned(self, assigned: set[Any]) -> None:
        """They are new: delivery begins when the user's callback is done."""
        await self._twin.take_over(assigned, functools.partial(tell, self._twin._user, "on_partitions_assigned", assigned))
