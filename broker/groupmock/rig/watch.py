"""What happens in a rig, told the moment it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.effects import Effect
    from .ask import Ask


class Watch:
    """Override what is wanted. `rig.now` is the time; nothing may be asked of the rig from here but to look at it."""

    def next(self, ask: Ask) -> None:
        """A request that waited behind another one of its connection is about to be handed to the core."""

    def handed(self, ask: Ask) -> None:
        """The core has had it; what it said is performed next."""

    def answered(self, ask: Ask) -> None:
        """The answer is there. A request behind it has not been handed in yet."""

    def ended(self, ask: Ask) -> None:
        """There will be no answer: `ask.status` says why."""

    def effect(self, effect: Effect) -> None:
        """Something else that the core wants or tells: a state moved, a timer fired, ..."""
