"""aiokafka's state of one partition: handed on from an assignment to the next, and held back until a callback returned."""

from __future__ import annotations

from typing import Any

from aiokafka.consumer.subscription_state import TopicPartitionState


def carry_over(old: Any, new: Any) -> None:
    """From one of aiokafka's TopicPartitionState to another: position, a reset that is due, pause."""
    if old.awaiting_reset:
        new.await_reset(old.reset_strategy)
    elif old.has_valid_position:
        new.seek(old.position)
    if old.paused:
        new.pause()


class HeldBack(TopicPartitionState):  # type: ignore[misc]  # aiokafka ships no types
    """A partition's state that is paused whatever the user says, until `let_go`; then it is as the user said meanwhile."""

    def __init__(self, assignment: Any) -> None:
        super().__init__(assignment)
        super().pause()
        self._held_back, self._wanted = True, False

    def pause(self) -> None:
        """The user's; during the hold it is remembered."""
        self._wanted = True
        super().pause()

    def resume(self) -> None:
        """The user's, likewise."""
        self._wanted = False
        if not self._held_back:
            super().resume()

    def let_go(self) -> None:
        """The hold is over."""
        self._held_back = False
        if not self._wanted:
            super().resume()
