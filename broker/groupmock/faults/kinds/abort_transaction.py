"""The transaction of the producer that calls runs into its timeout before the request is applied: the coordinator aborts it."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class AbortTransaction(Fault, tag="abort_transaction", frozen=True, kw_only=True):
    """The open transaction of the id that the call names is aborted, just before the request is applied, as if its transaction.timeout.ms
    were over: the producer's epoch is over with it (90 or 47; 48 for an EndTxn v5 that commits). Where none is open nothing happens."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("transactional_id",)

    def act(self, target: Target) -> Steer | CallOff:
        """Abort what the ids that the call names have open."""
        names = target.facts.transactional_ids
        if not names:
            return CallOff("the request names no transactional id")
        return Steer([("abort_transaction", {"transactional_id": name}) for name in names])


KIND = AbortTransaction
