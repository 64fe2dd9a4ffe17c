"""The fault `fence_transaction` lets a newer producer take the transactional id, so the answer is PRODUCER_FENCED or
INVALID_PRODUCER_EPOCH."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class FenceTransaction(Fault, tag="fence_transaction", frozen=True, kw_only=True):
    """Fence the producer of the transactional id in the call, just before the request is applied, as a newer producer's InitProducerId
    does. An open transaction is aborted, and the request is refused unless it is an InitProducerId: with PRODUCER_FENCED (90), or with
    INVALID_PRODUCER_EPOCH (47) in older versions and by Produce and TxnOffsetCommit. No producer has the new epoch."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("transactional_id",)

    def act(self, target: Target) -> Steer | CallOff:
        names = target.facts.transactional_ids
        if not names:
            return CallOff("the request names no transactional id")
        return Steer([("fence_transaction", {"transactional_id": name}) for name in names])


KIND = FenceTransaction
