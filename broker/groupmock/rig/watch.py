"""Callbacks for the events of a rig, at the moment of each event."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.effects import Effect
    from .ask import Ask


class Watch:
    """Callbacks that a subclass overrides. `rig.now` is the time. A callback may only read the rig."""

    def next(self, ask: Ask) -> None:
        """A request that waited behind another one of its connection is about to be handed to the core."""

    def handed(self, ask: Ask) -> None:
        """The core has handled the request; its effects are performed next."""

    def answered(self, ask: Ask) -> None:
        """The answer of a request has come. The next request of the connection has not reached the core yet."""

    def ended(self, ask: Ask) -> None:
        """There will be no answer: `ask.status` says why."""

    def effect(self, effect: Effect) -> None:
        """The core gave another effect: a state changed, a timer fired, ..."""
