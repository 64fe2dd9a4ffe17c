"""The timers of a cluster are deadlines by key, and moving a deadline to a later time costs one assignment, never a heap operation.

A heartbeat moves a session's deadline tens of thousands of times a second (docs/kafka/limits.md#heartbeats: a timer per heartbeat doubles
its cost). So the heap has each timer once, at the time of its next *look*, and an entry that comes up too early is pushed back.

Removing an entry from the middle would cost the heap's length, so a cancelled or replaced entry stays there, marked. When marked entries
outnumber the armed timers they are all removed at once. So the heap has at most twice as many entries as timers, and the cancels since the
previous sweep pay for each sweep.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

import msgspec

Key = tuple[str, ...]
"""A key of a timer: a name of `NAMES`, followed by the subject for which the timer is set."""
NAMES: Final = {
    "session": "group and member id",
    "join": "group",
    "sync": "group",
    "write": "group and member id",
    "revocation": "group and member id",
    "member_join": "group and member id",
    "member_sync": "group and member id",
    "regex": "group",
    "share_initialize": "group",
    "streams_delay": "group",
    "internal_topics": "group",
    "load": "partition of __consumer_offsets",
    "load_transactions": "partition of __transaction_state",
    "markers": "transactional id",
    "transaction_timeout": "nothing, it is one for all open transactions",
    "transaction_expiry": "nothing, it is one for all transactional ids",
    "retention": "nothing, it is one for all groups",
    "log_retention": "nothing, it is one for all logs",
    "fetch": "number of the request (ticket)",
    "share_fetch": "number of the request (ticket)",
    "record_lock": "group, topic and partition, and a number for locks of a former leader",
    "stall": "node",
    "thaw": "group and member id",
    "markers_release": "transactional id",
    "right_returns": "operation, type and name of the resource, pattern, principal and host of a rule that denies",
}
"""Maps the name of every timer to the kind of subject for which it is set. Rows, the control API and its page take the names from here."""
MOVED_AT_ONCE: Final = 256
"""At most this many moved timers are queued again before the caller may turn to something else: the sessions of ten thousand members that
joined at once are due at once, and all of them take 35 ms."""
NOT_YET: Final[Key] = ()
_FEW: Final = 64
"""If fewer heap entries than this are cancelled or replaced, removing them is not worth the cost."""


class Beats:
    """The time of the last repeated heartbeat (ns of the run), which the driver writes, and how long a session lives after it. A moved
    deadline begins a new count with 0. A field of a msgspec.Struct takes longer to write."""

    __slots__ = ("last", "lives_ns")

    def __init__(self, lives_ns: int) -> None:
        self.lives_ns = lives_ns
        self.last = 0


class Timer(msgspec.Struct, gc=False, eq=False):
    """The deadline of a timer that is set. It may be moved to a later time directly; use `Timers.set` to move it earlier or to re-arm
    it. `beats` moves the deadline of a session without a call: it is read when somebody looks at the deadline."""

    key: Key
    set_to: int
    queued: int
    live: bool = True
    beats: Beats | None = None

    @property
    def deadline(self) -> int:
        """The time (ns of the run) at which the timer fires."""
        beats = self.beats
        return self.set_to if beats is None or not beats.last else max(self.set_to, beats.last + beats.lives_ns)

    @deadline.setter
    def deadline(self, at: int) -> None:
        self.set_to = at
        if self.beats is not None:
            self.beats.last = 0

    def beating(self, lives_ns: int) -> Beats:
        """Return the beats of this session. All connections that repeat heartbeats of its member share them."""
        if self.beats is None:
            self.beats = Beats(lives_ns)
        else:
            self.beats.lives_ns = lives_ns
        return self.beats


# An entry has the time at which to look at the timer next, the order of setting, and the timer. It is a tuple, because the garbage
# collector stops tracking plain tuples.
_Entry = tuple[int, int, Timer]


class Timers:
    """All timers of a cluster, with deadlines in int nanoseconds. Arming an armed key replaces its deadline (docs/kafka/index.md#timer)."""

    def __init__(self) -> None:
        self._armed: dict[Key, Timer] = {}
        self._heap: list[_Entry] = []
        self._order = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._armed

    def __len__(self) -> int:
        return len(self._armed)

    def armed(self, name: str) -> list[Key]:
        """Return the keys of all timers with this name that are set."""
        return [key for key in self._armed if key[0] == name]

    def get(self, key: Key) -> Timer | None:
        """Return the timer of the key, or None if it is not set."""
        return self._armed.get(key)

    def set(self, key: Key, deadline: int) -> Timer:
        """Set the timer of `key` to `deadline`, which replaces its former deadline."""
        timer = self._armed.get(key)
        if timer is not None and timer.queued <= deadline:
            timer.deadline = deadline
            return timer
        if timer is not None:
            timer.live = False
            if len(self._heap) > 2 * len(self._armed) + _FEW:
                self._sweep()
        timer = self._armed[key] = Timer(key, deadline, deadline)
        self._push(timer, deadline)
        return timer

    def cancel(self, key: Key) -> None:
        """Cancel the timer if it is set."""
        timer = self._armed.pop(key, None)
        if timer is not None:
            timer.live = False
            if len(self._heap) > 2 * len(self._armed) + _FEW:
                self._sweep()

    def next(self) -> int | None:
        """Return the time of the next look at the timers, or None if no timer is set. It is never later than the earliest deadline, and
        earlier if a deadline was moved, which is found out then."""
        heap = self._heap
        while heap and not heap[0][2].live:
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: int) -> Key | None:
        """Remove and return the earliest key whose deadline is at or before `now`, or None; call it until None. Equal deadlines come in
        arming order. It returns `NOT_YET` when it has looked at many timers that were moved, so that the caller can do something else."""
        heap, moved = self._heap, 0
        while heap and heap[0][0] <= now:
            timer = heappop(heap)[2]
            if not timer.live:
                continue
            # The timer was moved, so it is queued again at its new deadline, to keep the order of deadlines.
            deadline = timer.deadline
            if deadline > timer.queued:
                self._push(timer, deadline)
                moved += 1
                if moved == MOVED_AT_ONCE:
                    return NOT_YET
                continue
            del self._armed[timer.key]
            timer.live = False
            if len(self._heap) > 2 * len(self._armed) + _FEW:
                self._sweep()
            return timer.key
        return None

    def _sweep(self) -> None:
        """Remove cancelled and replaced entries from the heap, so that every timer that is set has one entry. The condition is checked
        by the callers, because that is cheaper."""
        self._heap = [entry for entry in self._heap if entry[2].live]
        # The order of firing depends on the entries alone, because no two entries are equal, whatever the heap's layout is.
        heapify(self._heap)

    def _push(self, timer: Timer, deadline: int) -> None:
        timer.queued = deadline
        self._order += 1
        heappush(self._heap, (deadline, self._order, timer))
