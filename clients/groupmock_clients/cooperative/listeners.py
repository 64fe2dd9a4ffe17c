"""Call a user's listener, whose methods may be coroutines or missing, and the listener of a CooperativeConsumer's membership."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol


async def tell(listener: object, name: str, partitions: Iterable[Any]) -> None:
    """Call `listener.name` with a set of the library's TopicPartition and await its result if needed. Without such a method do nothing.

    Raises what the method raises.
    """
    callback: Callable[[set[Any]], Any] | None = getattr(listener, name, None)
    if callback is not None:
        answer = callback(set(partitions))
        if inspect.isawaitable(answer):
            await answer


def lost_or_revoked(listener: object) -> str:
    """Return the name of the listener's method to call for lost partitions, because a listener without on_partitions_lost is told that
    they were revoked."""
    return "on_partitions_lost" if hasattr(listener, "on_partitions_lost") else "on_partitions_revoked"


class Twin(Protocol):
    """The methods of a CooperativeConsumer that are called when partitions move."""

    _user: Any

    async def hand_over(self, partitions: Iterable[Any], commit: bool) -> None: ...
    async def take_over(self, partitions: Iterable[Any], told: Callable[[], Awaitable[None]]) -> None: ...


class Moves:
    """The listener of a CooperativeConsumer's membership: it first moves the partitions in the data consumer and then tells the user."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin

    async def on_partitions_revoked(self, revoked: set[Any]) -> None:
        """End delivery of the revoked partitions and commit, because another member gets them."""
        await self._twin.hand_over(revoked, commit=True)
        await tell(self._twin._user, "on_partitions_revoked", revoked)

    async def on_partitions_lost(self, lost: set[Any]) -> None:
        """End delivery without a commit, because another member already owns the partitions."""
        await self._twin.hand_over(lost, commit=False)
        await tell(self._twin._user, lost_or_revoked(self._twin._user), lost)

    async def on_partitions_assigned(self, assigned: set[Any]) -> None:
        """Begin delivery of the assigned partitions when the user's callback has returned."""
        await self._twin.take_over(assigned, functools.partial(tell, self._twin._user, "on_partitions_assigned", assigned))
