"""A transaction stays between its decision and its end: the producer was answered, readers do not see it, the next step is told to wait."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from groupmock_codec.units import MS_PER_S

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class HoldMarkers(Fault, tag="hold_markers", frozen=True, kw_only=True):
    """From this call on no markers are written for the transactional id that it names, for so long: how its transaction ends is decided and
    answered, readers of what is committed do not see it, and what the producer asks next is told to wait (51, CONCURRENT_TRANSACTIONS)."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("transactional_id",)
    seconds: Annotated[Annotated[float, Meta(gt=0, le=86_400)] | None, Meta(description="for how long; left out: until released")] = None

    def act(self, target: Target) -> Steer | CallOff:
        """Hold the markers of the ids that the call names."""
        names = target.facts.transactional_ids
        if not names:
            return CallOff("the request names no transactional id")
        ms = None if self.seconds is None else int(self.seconds * MS_PER_S)
        wishes: list[dict[str, Any]] = [{"transactional_id": name, "ms": ms} for name in names]
        return Steer([("hold_markers", arguments) for arguments in wishes])


KIND = HoldMarkers
