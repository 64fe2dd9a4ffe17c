"""A static member is replaced, as by a second process with its instance id: the client is answered FENCED_INSTANCE_ID."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class FenceInstance(Fault, tag="fence_instance", frozen=True, kw_only=True):
    """The static member that calls is taken over, just before its request is applied, as by a second process with its instance id: it is
    told so (82, FENCED_INSTANCE_ID; 25, UNKNOWN_MEMBER_ID, in versions that do not name the instance)."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("member_id", "group")

    def act(self, target: Target) -> Steer | CallOff:
        """Take over the instances that the call names."""
        facts = target.facts
        if not facts.instance_ids or not facts.groups:
            return CallOff("the member that calls is not static")
        return Steer([("fence_instance", {"group": facts.groups[0], "instance": instance}) for instance in facts.instance_ids])


KIND = FenceInstance
