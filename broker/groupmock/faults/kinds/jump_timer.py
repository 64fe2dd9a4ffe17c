"""The fault `jump_timer` fires a timer of the group before the request is applied, so a join phase, a sync phase or a session ends
early."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from ..actions import CallOff, Steer
from ..kind import Fault, Target

OF_MEMBER = "session"


class JumpTimer(Fault, tag="jump_timer", frozen=True, kw_only=True):
    """Fire a timer of the group just before the request is applied: `join` or `sync` ends the phase with the present members, `session`
    expires the session of the calling member. Nothing happens if that timer does not exist."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    NEEDS: ClassVar[tuple[str, ...]] = ("group", "member_id")
    timer: Annotated[str, Meta(pattern="^(join|sync|session)$", description="join, sync or session")]

    def needs(self) -> tuple[str, ...]:
        """Return the conditions that the timer needs: the group, and for a session also the member."""
        return self.NEEDS if self.timer == OF_MEMBER else self.NEEDS[:1]

    def act(self, target: Target) -> Steer | CallOff:
        facts = target.facts
        subjects = [(group, *member) for group in facts.groups[:1] for member in self._members(facts.member_ids)]
        if not subjects:
            return CallOff("the request names no member id yet" if facts.groups else "the request names no group")
        return Steer([("jump_timer", {"timer": self.timer, "subject": list(subject)}) for subject in subjects])

    def _members(self, member_ids: tuple[str, ...]) -> list[tuple[str, ...]]:
        return [(member,) for member in member_ids] if self.timer == OF_MEMBER else [()]


KIND = JumpTimer
