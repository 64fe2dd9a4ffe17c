"""The request or its answer is lost, and all that follows on the connection: the client sees silence until its own timeout."""

from __future__ import annotations

from typing import ClassVar

from ..actions import Vanish
from ..kind import Fault, Target


class Drop(Fault, tag="drop", frozen=True, kw_only=True):
    """The request (stage request: it is not applied) or its answer (stage reply: it was) is lost, and nothing else is served on this
    connection, as on a path that swallows packets: the client has to give up by its own timeout."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")

    def act(self, target: Target) -> Vanish:
        """Serve nothing more on this connection."""
        return Vanish(applied=target.facts.stage == "reply", mute=True)


KIND = Drop
