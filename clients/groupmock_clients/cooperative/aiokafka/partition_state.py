"""aiokafka's state of one partition: carried over to the next assignment, and held back until a callback has returned."""

from __future__ import annotations

from typing import Any

from aiokafka.consumer.subscription_state import TopicPartitionState


def carry_over(old: Any, new: Any) -> None:
    """Copy position, pending reset and pause from one of aiokafka's TopicPartitionState to another."""
    if old.awaiting_reset:
        new.await_reset(old.reset_strategy)
    elif old.has_valid_position:
        new.seek(old.position)
    if old.paused:
        new.pause()


class HeldBack(TopicPartitionState):  # type: ignore[misc]  # aiokafka ships no types
    """The state of a partition that stays paused whatever the user says, until `let_go`. Then the user's last wish takes effect."""

    def __init__(self, assignment: Any) -> None:
        super().__init__(assignment)
        super().pause()
        self._held_back, self._wanted = True, False

    def pause(self) -> None:
        """Pause, and remember it during the hold."""
        self._wanted = True
        super().pause()

    def resume(self) -> None:
        """Resume, or during the hold remember to resume."""
        self._wanted = False
        if not self._held_back:
            super().resume()

    def let_go(self) -> None:
        self._held_back = False
        if not self._wanted:
            super().resume()
