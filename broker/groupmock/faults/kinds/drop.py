"""The fault `drop` loses the request or its answer, and everything after it on the connection."""

from __future__ import annotations

from typing import ClassVar

from ..actions import Vanish
from ..kind import Fault, Target


class Drop(Fault, tag="drop", frozen=True, kw_only=True):
    """Lose the request, which is not applied (stage request), or the answer to an applied request (stage reply), and serve nothing else
    on this connection, as if the network swallowed packets. The client has to give up by its own timeout."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")

    def act(self, target: Target) -> Vanish:
        return Vanish(applied=target.facts.stage == "reply", mute=True)


KIND = Drop
