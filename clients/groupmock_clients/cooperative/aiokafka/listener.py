"""The listener between aiokafka, which reports all partitions in every round, and the user's listener, which is only told about moved
partitions."""

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
    """Receives all partitions from aiokafka and tells the listener `user` which ones moved: first lost or revoked, then assigned. Without a
    move `user` is not called.

    For partitions that an expelled member lost, `user.on_partitions_lost` is called if it exists, otherwise on_partitions_revoked.
    Callbacks may be coroutines. An exception in one of them is logged, as in aiokafka, and the others are called nevertheless. aiokafka
    sends no heartbeat until on_partitions_assigned has returned.
    """

    def __init__(self, assignor: CooperativeAssignor, user: ConsumerRebalanceListener | None) -> None:
        self._assignor, self._user = assignor, user

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Give up partitions if necessary; called by aiokafka with all owned partitions before every join. The consumer keeps them,
        unless it was expelled."""
        # The call waits a turn, because aiokafka cancels its heartbeat task next, and cancelling a task before its first step would cancel
        # the whole coordination.
        await _others_begin()
        self._assignor.forget_if_expelled()
        await self._tell_lost()
        given_up = self._assignor.give_up()
        if given_up:
            await self._tell("on_partitions_revoked", given_up)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Tell the user's listener what has moved; called by aiokafka with all assigned partitions after every join."""
        assignor = self._assignor
        # The call waits a turn, because aiokafka's fetcher has just got an assignment, and fails if its first step finds another
        # subscription.
        await _others_begin()
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
        except Exception:  # An error in the user's callback must not stop the rebalance.
            log.exception("listener %r failed %s of %s", self._user, name, sorted(partitions))


async def _others_begin() -> None:
    """Let aiokafka's tasks that are ready to run take their first step. Subscribing again within a callback breaks two of them (0.14)
    that have not started yet."""
    await asyncio.sleep(0)
