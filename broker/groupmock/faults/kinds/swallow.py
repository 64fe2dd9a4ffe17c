"""The fault `swallow`: the request is applied without an answer, so the client cannot know the outcome."""

from __future__ import annotations

from typing import ClassVar

from ..actions import Vanish
from ..kind import Fault, Target


class Swallow(Fault, tag="swallow", frozen=True, kw_only=True):
    """Apply the request, send no answer, and go on with the next request on the connection: the client cannot know the outcome."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply",)

    def act(self, target: Target) -> Vanish:
        return Vanish(applied=True, mute=False)


KIND = Swallow
