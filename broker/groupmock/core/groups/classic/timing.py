"""Handles the timers of a classic group when they are due: session, join phase, sync phase, and the write of a record. `sessions` and
`rebalance` set them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...turn import Turn
from . import leaving, rebalance, replacement
from .group import Group
from .states import PREPARING

Subject = tuple[str, ...]


def _on_session(turn: Turn, group: Group, subject: Subject) -> bool:
    if subject[1] in group.members and turn.environment.holds.defers(("session", *subject), group.group_id, group.state):
        group.end_leases()  # No repeated heartbeat may move the session timer any more, because the timer has fired.
        return False
    return leaving.expire(turn, group, subject[1])


def _on_join(turn: Turn, group: Group, subject: Subject) -> bool:
    if group.state is not PREPARING:
        return False
    rebalance.on_join_timer(turn, group)
    return True


def _on_sync(turn: Turn, group: Group, subject: Subject) -> bool:
    if turn.environment.holds.defers(("sync", *subject), group.group_id, group.state):
        group.end_leases()
        return False
    return rebalance.on_sync_timer(turn, group)


def _on_write(turn: Turn, group: Group, subject: Subject) -> bool:
    return replacement.written(turn, group, subject[1])


FIRES: Final[dict[str, Callable[[Turn, Group, Subject], bool]]] = {
    "session": _on_session,
    "join": _on_join,
    "sync": _on_sync,
    "write": _on_write,
}
"""Maps each timer name to its handler, which is called with the timer's subject. It returns True if it did something."""
