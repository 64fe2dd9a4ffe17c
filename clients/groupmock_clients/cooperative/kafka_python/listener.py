"""The listener between kafka-python and the user's listener, whose methods may be coroutines or missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka import TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener, ConsumerRebalanceListener

from ..listeners import lost_or_revoked, tell
from ..member import log

if TYPE_CHECKING:
    from .assignor import CooperativeAssignor


class CooperativeListener(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python ships no types
    """Passes kafka-python's calls on to a listener with plain methods or coroutines, or to none.

    An exception in such a method is raised by `poll`. While the consumer closes it is logged instead: kafka-python 3.0.12 would stop
    closing and leave its client running for ever (a commit during a rebalance is enough).
    """

    def __init__(self, assignor: CooperativeAssignor, user: ConsumerRebalanceListener | AsyncConsumerRebalanceListener | None) -> None:
        self._assignor = assignor
        self._user = user

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Pass on the partitions that were given up, which are all partitions when the consumer closes."""
        await self._tell("on_partitions_revoked", revoked)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        await self._tell("on_partitions_assigned", assigned)

    async def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        """Pass on to the user's listener the partitions of an expelled member. A listener without this method is told that they were
        revoked."""
        await self._tell(lost_or_revoked(self._user), lost)

    async def _tell(self, name: str, partitions: Iterable[TopicPartition]) -> None:
        try:
            await tell(self._user, name, partitions)
        except Exception:
            if not self._assignor.consumer._closed:
                raise
            log.exception("%s failed while the consumer closes, which goes on", name)
