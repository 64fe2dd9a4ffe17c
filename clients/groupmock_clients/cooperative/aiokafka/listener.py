"""The listener between aiokafka, which reports all partitions in every round, and the user's listener, which hears of moved partitions
only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from aiokafka import ConsumerRebalanceListener, TopicPartition

from ..listeners import lost_or_revoked, tell
from ..member import log

if TYPE_CHECKING:
    from .assignor import CooperativeAssignor


class CooperativeListener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    """Gets all partitions from aiokafka and tells `user` which ones moved: first lost or revoked, then assigned. Without a move `user` is
    not called.

    For partitions that an expelled member lost, `user.on_partitions_lost` is called if it exists, otherwise on_partitions_revoked.
    Callbacks may be coroutines. An exception in one of them is logged, as in aiokafka, and the others are called nevertheless. aiokafka
    sends no heartbeat until on_partitions_assigned has returned.
    """

    def __init__(self, assignor: CooperativeAssignor, user: ConsumerRebalanceListener | None) -> None:
        self._assignor, self._user = assignor, user

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Called by aiokafka before every join with all partitions. The consumer keeps them, unless it was expelled."""
        # its heartbeat task is cancelled next, and if that task has not run its first step, the whole coordination is cancelled with it
        await _others_begin()
        self._assignor.forget_if_expelled()
        await self._tell_lost()
        given_up = self._assignor.give_up()
        if given_up:
            await self._tell("on_partitions_revoked", given_up)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Called by aiokafka after every join with all partitions."""
        assignor = self._assignor
        await _others_begin()  # its fetcher has just got an assignment, and fails if it then finds another subscription
        try:
            await self._tell_lost()
            if assignor.revoked:
                await self._tell("on_partitions_revoked", assignor.revoked)
            if assignor.added:
                await self._tell("on_partitions_assigned", assignor.added)
        finally:
            assignor.release()

    async def _tell_lost(self) -> None:
        lost, self._assignor.lost = self._assignor.lost, frozenset()
        if lost:
            await self._tell(lost_or_revoked(self._user), lost)

    async def _tell(self, name: str, partitions: frozenset[TopicPartition]) -> None:
        try:
            await tell(self._user, name, partitions)
        except Exception:  # a failing callback of the user does not stop the round
            log.exception("listener %r failed %s of %s", self._user, name, sorted(partitions))


async def _others_begin() -> None:
    """Let aiokafka's runnable tasks run. Subscribing again within a callback breaks two of them (0.14) that have not started yet."""
    await asyncio.sleep(0)
