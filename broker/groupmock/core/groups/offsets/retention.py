"""Committed offsets expire when they have not been in use for the retention time (KIP-211; docs/kafka/offsets.md#retention; SERVER-57).

The group's type decides from when an offset's age counts. An offset that may be in use has no age, so it does not expire.
"""

from __future__ import annotations

from ...turn import Turn
from ...work import A_FEW, Steps
from ..type import GroupType
from .committed import At, Offset


def sweep(turn: Turn, group: GroupType) -> Steps:
    """Drop the group's committed offsets that have expired."""
    base = group.offsets_age_from()
    if base is None:
        return
    for number, at in enumerate(list(group.offsets)):
        offset = group.offsets.get(at)
        if offset is not None and _expired(turn, group, at, offset, base(offset)):
            del group.offsets[at]
            turn.note("offset_expired", group=group.group_id, topic=at[0], partition=at[1])
        if number % A_FEW == A_FEW - 1:
            yield


def _expired(turn: Turn, group: GroupType, at: At, offset: Offset, base_ms: int) -> bool:
    if group.subscribed_to(at[0]) or group.offsets.is_unstable(at):
        return False
    if offset.expire_ms is not None:  # Before KIP-211, a commit (v2 to v4) could set its own retention.
        return turn.wall_ms >= offset.expire_ms
    return turn.wall_ms - base_ms >= turn.settings.offsets_retention_minutes * 60_000
