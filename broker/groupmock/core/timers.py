"""Keyed deadlines: set, cancel, due(now), next(). Moving a deadline to a later time costs one assignment, never a heap operation.

A heartbeat moves a session's deadline tens of thousands of times a second (docs/kafka/limits.md#heartbeats: a timer per heartbeat doubles
its cost), so the heap has each timer once, at the time of its last *look*, and an entry that comes up too early is pushed back.

Removing an entry from the middle would cost the heap's length, so a cancelled or replaced entry stays there, marked. When marked entries
outnumber the armed timers they are all removed at once: the heap stays within twice the timers, and each sweep is paid by the cancels
since the one before.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

import msgspec

Key = tuple[str, ...]
"""A name of `NAMES` and what the timer is set for."""
NAMES: Final = {
    "session": "group and member id",
    "join": "group",
    "sync": "group",
    "write": "group and member id",
    "revocation": "group and member id",
    "member_join": "group and member id",
    "member_sync": "group and member id",
    "regex": "group",
    "load": "partition of __consumer_offsets",
    "load_transactions": "partition of __transaction_state",
    "markers": "transactional id",
    "transaction_timeout": "nothing, it is one for all open transactions",
    "transaction_expiry": "nothing, it is one for all transactional ids",
    "retention": "nothing, it is one for all groups",
    "log_retention": "nothing, it is one for all logs",
    "fetch": "number of the request (ticket)",
    "stall": "node",
    "thaw": "group and member id",
    "markers_release": "transactional id",
}
"""Maps every timer to what it is set for. Rows, the control API and its page take the names from here."""
_FEW: Final = 64
"""Fewer marked entries than this are not worth a sweep."""


class Timer(msgspec.Struct, gc=False, eq=False):
    """The deadline of an armed timer. It may be moved to a later time directly; use `Timers.set` to move it earlier or to re-arm it."""

    key: Key
    deadline: int
    queued: int
    live: bool = True


# when to look, order of arming, the timer; a plain tuple is cheap, and the garbage collector stops tracking it
_Entry = tuple[int, int, Timer]


class Timers:
    """All deadlines of a cluster, in int nanoseconds. Arming an armed key replaces its deadline (docs/kafka/index.md#timer)."""

    def __init__(self) -> None:
        self._armed: dict[Key, Timer] = {}
        self._heap: list[_Entry] = []
        self._order = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._armed

    def __len__(self) -> int:
        return len(self._armed)

    def armed(self, name: str) -> list[Key]:
        """Return the armed keys of one name."""
        return [key for key in self._armed if key[0] == name]

    def get(self, key: Key) -> Timer | None:
        """Return the armed timer of the key, or None."""
        return self._armed.get(key)

    def set(self, key: Key, deadline: int) -> Timer:
        """Arm `key` for `deadline`, replacing its former deadline."""
        timer = self._armed.get(key)
        if timer is not None and timer.queued <= deadline:
            timer.deadline = deadline
            return timer
        if timer is not None:
            timer.live = False
            if len(self._heap) > 2 * len(self._armed) + _FEW:
                self._sweep()
        timer = self._armed[key] = Timer(key, deadline, deadline)
        self._push(timer)
        return timer

    def cancel(self, key: Key) -> None:
        """Disarm the timer if it is armed."""
        timer = self._armed.pop(key, None)
        if timer is not None:
            timer.live = False
            if len(self._heap) > 2 * len(self._armed) + _FEW:
                self._sweep()

    def next(self) -> int | None:
        """Return when to look again, or None. It is never later than the earliest deadline, and earlier if a deadline was moved, which
        is found out then."""
        heap = self._heap
        while heap and not heap[0][2].live:
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: int) -> Key | None:
        """Remove and return the earliest key whose deadline is at or before `now`; call until None. Equal deadlines come in arming order.
        """
        heap = self._heap
        while heap and heap[0][0] <= now:
            timer = heappop(heap)[2]
            if not timer.live:
                continue
            if timer.deadline > timer.queued:  # The timer was moved: queue it where it belongs, so that the order of deadlines holds
                self._push(timer)
                continue
            del self._armed[timer.key]
            timer.live = False
            if len(self._heap) > 2 * len(self._armed) + _FEW:
                self._sweep()
            return timer.key
        return None

    def _sweep(self) -> None:
        """Remove entries that are marked, so that every armed timer has one entry. The condition is checked by the callers, because that
        is cheaper."""
        self._heap = [entry for entry in self._heap if entry[2].live]
        # The order of firing depends on the entries alone, of which no two are equal, and not on how the heap holds them
        heapify(self._heap)

    def _push(self, timer: Timer) -> None:
        timer.queued = timer.deadline
        self._order += 1
        heappush(self._heap, (timer.deadline, self._order, timer))
