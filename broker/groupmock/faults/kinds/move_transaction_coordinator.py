"""The fault `move_transaction_coordinator` moves the coordinator before the request is applied, so the producer sees NOT_COORDINATOR."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from groupmock_codec.units import MS_PER_S

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class MoveTransactionCoordinator(Fault, tag="move_transaction_coordinator", frozen=True, kw_only=True):
    """Move the coordinator of the transactional id in the call, just before the request is applied. The request is answered with
    NOT_COORDINATOR (16), and the new coordinator loads for `loading_seconds`, with COORDINATOR_LOAD_IN_PROGRESS (14). An open
    transaction stays open. With one node, the coordinator is unloaded and loaded again there."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("transactional_id",)
    node: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="where to; left out: the next node that runs")] = None
    loading_seconds: Annotated[float, Meta(ge=0, le=86_400, description="how long the new one loads")] = 0

    def act(self, target: Target) -> Steer | CallOff:
        names = target.facts.transactional_ids
        if not names:
            return CallOff("the request names no transactional id")
        arguments = {"transactional_id": names[0], "node": self.node, "loading_ms": int(self.loading_seconds * MS_PER_S)}
        return Steer([("move_transaction_coordinator", arguments)])


KIND = MoveTransactionCoordinator
