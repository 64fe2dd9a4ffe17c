"""A member of a consumer group has an epoch that its process does not know: the client is answered FENCED_MEMBER_EPOCH."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class FenceMember(Fault, tag="fence_member", frozen=True, kw_only=True):
    """The member of a consumer group that calls is taken out and in again behind its back, just before its request is applied: its epoch is
    over (110, FENCED_MEMBER_EPOCH; 113, STALE_MEMBER_EPOCH, for a commit), and what it had is free. One that just joins, and members of the
    classic protocol, are left alone."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("member_epoch", "group")

    def act(self, target: Target) -> Steer | CallOff:
        """Fence the members that the call names."""
        facts = target.facts
        if not facts.member_ids or not facts.groups or facts.progress is None:
            return CallOff("no member of a consumer group calls")
        return Steer([("fence_member", {"group": facts.groups[0], "member": member}) for member in facts.member_ids])


KIND = FenceMember
