"""The fault `abort_transaction` makes the coordinator abort the caller's transaction before the request is applied, as at its timeout."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class AbortTransaction(Fault, tag="abort_transaction", frozen=True, kw_only=True):
    """Abort the open transaction of the transactional id in the call, just before the request is applied, as if its transaction.timeout.ms
    were over. The producer's epoch is invalid then, which is answered with PRODUCER_FENCED (90) or INVALID_PRODUCER_EPOCH (47), or with
    INVALID_TXN_STATE (48) for an EndTxn v5 that commits. Without an open transaction nothing happens."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("transactional_id",)

    def act(self, target: Target) -> Steer | CallOff:
        names = target.facts.transactional_ids
        if not names:
            return CallOff("the request names no transactional id")
        return Steer([("abort_transaction", {"transactional_id": name}) for name in names])


KIND = AbortTransaction
