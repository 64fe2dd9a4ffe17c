"""The fault `stall_node` keeps a node from reading and writing while its connections stay open, so its clients see silence."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from groupmock_codec.units import MS_PER_S

from ..actions import Steer
from ..kind import Fault, Target


class StallNode(Fault, tag="stall_node", frozen=True, kw_only=True):
    """Stop all traffic of the node that received the call, or of another node. Connections stay open and sessions run on. The call
    itself is still applied, but its answer waits too."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    node: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="which; left out: where the call came in")] = None
    seconds: Annotated[Annotated[float, Meta(gt=0, le=86_400)] | None, Meta(description="for how long; left out: until started")] = None

    def act(self, target: Target) -> Steer:
        ms = None if self.seconds is None else int(self.seconds * MS_PER_S)
        return Steer([("stall_node", {"node": target.facts.node if self.node is None else self.node, "ms": ms})])


KIND = StallNode
