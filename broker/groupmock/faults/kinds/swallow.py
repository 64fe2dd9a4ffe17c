"""The fault `swallow` applies the request without an answer, so the client cannot know the outcome."""

from __future__ import annotations

from typing import ClassVar

from ..actions import Vanish
from ..kind import Fault, Target


class Swallow(Fault, tag="swallow", frozen=True, kw_only=True):
    """Apply the request, send no answer, and serve the next request on the connection, so that the client cannot know the outcome."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply",)

    def act(self, target: Target) -> Vanish:
        return Vanish(applied=True, mute=False)


KIND = Swallow
