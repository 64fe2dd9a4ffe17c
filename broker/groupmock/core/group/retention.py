"""Which offsets are too old to keep (KIP-211; docs/kafka/offsets.md#retention; SERVER-57).

Age counts from when nobody could be using the offset any more: since the group is Empty; in a Stable group since the commit, of topics
that nobody subscribes to; in a group that only ever commits (no protocol type) since the commit. While a group rebalances, or where its
subscriptions cannot be read, nothing expires: it cannot be known what is in use.
"""

from __future__ import annotations

from collections.abc import Callable

from ..turn import Turn
from .group import Group, Offset
from .offset_map import At
from .states import EMPTY, STABLE

Base = Callable[[Offset], int]


def sweep(turn: Turn, group: Group) -> bool:
    """Drop what has expired. True: nothing is left and the group may die."""
    base = _base(group)
    if base is not None:
        for at in [at for at, offset in group.offsets.items() if _expired(turn, group, at, offset, base(offset))]:
            del group.offsets[at]
            turn.note("offset_expired", group=group.group_id, topic=at[0], partition=at[1])
    return group.state is EMPTY and group.offsets.used_up


def _base(group: Group) -> Base | None:
    """From which time (ms since 1970) an offset's age counts; None: nothing expires now."""
    if group.protocol_type is None:
        return _committed
    if group.state is EMPTY:
        return lambda offset: group.state_since_ms
    if group.state is STABLE and group.protocol_type == "consumer" and group.subscribed.topics is not None:
        return _committed
    return None


def _committed(offset: Offset) -> int:
    return offset.commit_ms


def _expired(turn: Turn, group: Group, at: At, offset: Offset, base_ms: int) -> bool:
    if group.subscribed_to(at[0]) or at in group.offsets.lingering:
        return False
    if offset.expire_ms is not None:  # asked for by a commit v2 to v4, before KIP-211
        return turn.wall_ms >= offset.expire_ms
    return turn.wall_ms - base_ms >= turn.settings.offsets_retention_minutes * 60_000
