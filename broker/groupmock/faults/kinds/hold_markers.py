"""The fault `hold_markers` keeps a transaction between its decision and its end, with the producer answered and readers waiting."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from groupmock_codec.units import MS_PER_S

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class HoldMarkers(Fault, tag="hold_markers", frozen=True, kw_only=True):
    """Delay the markers of the transactional id from this call on, for a time. The end of its transaction is decided and answered, readers
    of committed records do not see it, and the producer's next request is answered with CONCURRENT_TRANSACTIONS (51)."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("transactional_id",)
    seconds: Annotated[Annotated[float, Meta(gt=0, le=86_400)] | None, Meta(description="for how long; left out: until released")] = None

    def act(self, target: Target) -> Steer | CallOff:
        names = target.facts.transactional_ids
        if not names:
            return CallOff("the request names no transactional id")
        ms = None if self.seconds is None else int(self.seconds * MS_PER_S)
        wishes: list[dict[str, Any]] = [{"transactional_id": name, "ms": ms} for name in names]
        return Steer([("hold_markers", arguments) for arguments in wishes])


KIND = HoldMarkers
