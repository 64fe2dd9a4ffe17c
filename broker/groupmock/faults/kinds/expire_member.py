"""The fault `expire_member` expires the caller's session before its request is applied, so the answer is UNKNOWN_MEMBER_ID."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class ExpireMember(Fault, tag="expire_member", frozen=True, kw_only=True):
    """Expire the session of the calling member just before its request is applied, so that the answer is UNKNOWN_MEMBER_ID (25)."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("member_id", "group")

    def act(self, target: Target) -> Steer | CallOff:
        facts = target.facts
        if not facts.member_ids or not facts.groups:
            return CallOff("the request names no member id yet")
        return Steer([("expire_member", {"group": facts.groups[0], "member": member}) for member in facts.member_ids])


KIND = ExpireMember
