"""The fault `fence_instance` replaces a static member before its request is applied, so the answer is FENCED_INSTANCE_ID."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class FenceInstance(Fault, tag="fence_instance", frozen=True, kw_only=True):
    """Fence the calling static member just before its request is applied, as a second process with its instance id does. The answer is
    FENCED_INSTANCE_ID (82), or UNKNOWN_MEMBER_ID (25) in versions without the instance id."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("member_id", "group")

    def act(self, target: Target) -> Steer | CallOff:
        facts = target.facts
        if not facts.instance_ids or not facts.groups:
            return CallOff("the member that calls is not static")
        return Steer([("fence_instance", {"group": facts.groups[0], "instance": instance}) for instance in facts.instance_ids])


KIND = FenceInstance
