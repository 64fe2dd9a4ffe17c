"""The fault `stop_node` stops a node, so that its connections end and its port refuses new ones."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from groupmock_codec.units import MS_PER_S

from ..actions import Steer
from ..kind import Fault, Target


class StopNode(Fault, tag="stop_node", frozen=True, kw_only=True):
    """Stop a node: its port refuses connections, and its coordinators and partition leaders move to running nodes. With `clean`, waiting
    requests are answered first with NOT_COORDINATOR (16); otherwise their connections just end. `start_node` starts the node again."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    node: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="which; left out: where the call came in")] = None
    clean: Annotated[bool, Meta(description="a controlled shutdown")] = True
    loading_seconds: Annotated[float, Meta(ge=0, le=86_400, description="how long its coordinators load where they go")] = 0

    def act(self, target: Target) -> Steer:
        node = target.facts.node if self.node is None else self.node
        arguments = {"node": node, "clean": self.clean, "loading_ms": int(self.loading_seconds * MS_PER_S)}
        return Steer([("stop_node", arguments)])


KIND = StopNode
