"""The fault `move_leader` gives a partition another leader before the request is applied, so clients of the old one see
NOT_LEADER_OR_FOLLOWER."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from ..actions import Steer
from ..kind import Fault, Target


class MoveLeader(Fault, tag="move_leader", frozen=True, kw_only=True):
    """Give a partition another leader just before the request is applied, so that the old leader answers NOT_LEADER_OR_FOLLOWER (6) from
    then on. The leader epoch grows by one (KIP-320)."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    topic: Annotated[str, Meta(min_length=1, description="of this topic")]
    partition: Annotated[int, Meta(ge=0, description="this partition")]
    node: Annotated[int, Meta(ge=0, description="goes to this node")]

    def act(self, target: Target) -> Steer:
        return Steer([("move_leader", {"topic": self.topic, "partition": self.partition, "node": self.node})])


KIND = MoveLeader
