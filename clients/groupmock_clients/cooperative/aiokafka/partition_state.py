"""Carry aiokafka's state of a partition over to the next assignment, or keep the partition paused until a callback has returned."""

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
    """The state of a partition that stays paused until `let_go`, even if the user resumes the partition. Then the user's last wish takes
    effect."""

    def __init__(self, assignment: Any) -> None:
        super().__init__(assignment)
        super().pause()
        self._held_back, self._wanted = True, False

    def pause(self) -> None:
        """Pause the partition at the user's request, so that it stays paused after `let_go`."""
        self._wanted = True
        super().pause()

    def resume(self) -> None:
        """Resume the partition at the user's request, which takes effect at `let_go` if the partition is still held back."""
        self._wanted = False
        if not self._held_back:
            super().resume()

    def let_go(self) -> None:
        self._held_back = False
        if not self._wanted:
            super().resume()
