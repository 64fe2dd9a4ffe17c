"""The fault `freeze_member` delays every request of one member while its session runs on, as if its process had stopped."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from groupmock_codec.units import MS_PER_S

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class FreezeMember(Fault, tag="freeze_member", frozen=True, kw_only=True):
    """Delay every request of the member from this call on, on any connection, while its session runs on, as if the process were stopped
    or cut off. The delayed requests, this one included, are applied in order after `seconds` or by `thaw_member`."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("member_id", "group")
    seconds: Annotated[Annotated[float, Meta(gt=0, le=86_400)] | None, Meta(description="for how long; left out: until thawed")] = None

    def act(self, target: Target) -> Steer | CallOff:
        facts = target.facts
        if not facts.member_ids or not facts.groups:
            return CallOff("the request names no member id yet")
        ms = None if self.seconds is None else int(self.seconds * MS_PER_S)
        wishes: list[dict[str, Any]] = [{"group": facts.groups[0], "member": member, "ms": ms} for member in facts.member_ids]
        return Steer([("freeze_member", arguments) for arguments in wishes])


KIND = FreezeMember
