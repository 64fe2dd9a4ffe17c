"""The fault `fence_member` gives a member of a consumer or streams group an epoch that its process does not know, so the answer is
FENCED_MEMBER_EPOCH."""

from __future__ import annotations

from typing import ClassVar

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class FenceMember(Fault, tag="fence_member", frozen=True, kw_only=True):
    """Remove the calling member of a consumer or streams group and add it again without its knowledge, just before its request is applied.
    Its epoch is invalid then, and its partitions or tasks are free. The answer is FENCED_MEMBER_EPOCH (110), or STALE_MEMBER_EPOCH (113)
    for a commit. A member that is just joining, and members of the classic protocol, are left alone."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("member_epoch", "group")

    def act(self, target: Target) -> Steer | CallOff:
        facts = target.facts
        if not facts.member_ids or not facts.groups or facts.progress is None:
            return CallOff("no member with an epoch calls")
        return Steer([("fence_member", {"group": facts.groups[0], "member": member}) for member in facts.member_ids])


KIND = FenceMember
