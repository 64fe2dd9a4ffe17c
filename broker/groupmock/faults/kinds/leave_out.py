"""The answer says nothing of an entity that was asked for."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from groupmock_codec.declare import Message

from ..actions import Answer, Narrow
from ..entities import answered, without
from ..entity_fault import EntityFault
from ..kind import Target


class LeaveOut(EntityFault, tag="leave_out", frozen=True, kw_only=True):
    """The answer is silent about the groups, topics, partitions, resources or members that `when` names; the others are answered for real.
    At stage reply what was asked of them was done, at stage request it was not."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")
    ALTERS: ClassVar[bool] = True

    def cannot_wholly(self, stage: str, api: str, version: int) -> str:
        """That is another kind."""
        levels = ", ".join(level.kind for level in answered(api, version))
        if levels:
            return f"it leaves out some of what is answered: name them in `when`, or say level = {levels}"
        return "its answer has no parts to leave out: say another version, or do = swallow"

    def changed(self, target: Target, response: Message) -> Message:
        """All but those."""
        facts, struck = target.facts, target.struck
        assert struck is not None
        levels = answered(facts.api, facts.version)
        rest: Message | None = without(response, levels, struck.kind, struck.entities, target.lookup)
        return rest if rest is not None else msgspec.structs.replace(response, **{levels[0].field: []})

    def act(self, target: Target) -> Answer | Narrow:
        """Answer without them."""
        return self.strike(target)


KIND = LeaveOut
