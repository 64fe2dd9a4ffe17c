"""The listener between aiokafka, which tells everything in every round, and the user's, which hears what moved."""

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
    """Told everything by aiokafka, tells `user` what moved: lost or revoked first, then assigned; nothing where nothing moved.

    `user.on_partitions_lost`, if there is one, is called for what an expelled member lost; else on_partitions_revoked is. Callbacks may
    be coroutines. What one of them raises is logged, as aiokafka does it, and the others are called nevertheless. aiokafka sends no
    heartbeat until on_partitions_assigned returned.
    """

    def __init__(self, assignor: CooperativeAssignor, user: ConsumerRebalanceListener | None) -> None:
        self._assignor, self._user = assignor, user

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """aiokafka's, before every join, of everything: the consumer keeps it, unless it was expelled."""
        await _others_begin()  # its heartbeats end next: cancelled before their first step they would take the whole coordination along
        self._assignor.forget_if_expelled()
        await self._tell_lost()
        given_up = self._assignor.give_up()
        if given_up:
            await self._tell("on_partitions_revoked", given_up)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """aiokafka's, after every join, of everything."""
        assignor = self._assignor
        await _others_begin()  # its fetcher was just given an assignment, and fails if there is another subscription when it looks
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
        except Exception:  # the user's, whatever it is: the round goes on
            log.exception("listener %r failed %s of %s", self._user, name, sorted(partitions))


async def _others_begin() -> None:
    """Let aiokafka's tasks that can run do so. Subscribing anew within a callback meets two of them (0.14) before they are ready for it."""
    await asyncio.sleep(0)
