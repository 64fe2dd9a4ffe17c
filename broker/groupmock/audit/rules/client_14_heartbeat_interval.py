"""CLIENT-14 requires a heartbeat interval of at most a third of the session timeout, so that one heartbeat may get lost."""

from __future__ import annotations

from collections import deque
from typing import Final

from groupmock_codec.api_keys import HEARTBEAT
from groupmock_codec.units import NS_PER_MS

from ..order import GRACE_NS
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, asked, calm
from ..subjects import Exchange

LOOKED_AT: Final = 3
"""The number of pauses in a row that must be too long, because a single one may be an accident."""

LATE_NS: Final = 100 * NS_PER_MS
"""The tolerance for late timers: librdkafka looks at its own timers only ten times a second."""


class _Pace:
    """The heartbeats of a member in one generation: the last one, the last pauses, and whether a finding was reported."""

    __slots__ = ("generation", "last", "pauses", "said")

    def __init__(self, x: Exchange) -> None:
        self.generation, self.last, self.said = x.asked["generation_id"], x, False
        self.pauses: deque[int] = deque(maxlen=LOOKED_AT)


class BeatsThreeTimesPerSession(Rule):
    code = "CLIENT-14"
    title = "Heartbeats come at least three times per session timeout"
    severity = WARNING
    what = f"Of {LOOKED_AT} pauses between heartbeats in a row at least one is about a third of the session timeout or shorter."
    why = "With a longer interval one heartbeat that is lost or late is enough to lose the session, and the whole group rebalances."
    source = ("clients.md#client-14", "ConsumerConfig.HEARTBEAT_INTERVAL_MS_DOC")
    fix = "Set heartbeat.interval.ms to a third of session.timeout.ms or less."
    implies = ()
    kept = """
member *: session_timeout_ms=1000
do stable1(A)
A: Heartbeat -> 0
repeat 3
pause 300
A: Heartbeat -> 0
end
"""
    broken = """
member *: session_timeout_ms=1000
do stable1(A)
A: Heartbeat -> 0
repeat 3
pause 600
A: Heartbeat -> 0
end
"""

    @calm(HEARTBEAT)
    def often(self, x: Exchange) -> Judgements:
        """Note a pause between heartbeats that is short enough."""
        pace: _Pace | None = None if x.member is None else x.member.notes.get(self.code)
        if pace is not None:
            pace.pauses.clear()
            yield KEPT

    @asked(HEARTBEAT)
    def beats(self, x: Exchange) -> Judgements:
        """Judge the pause since the previous heartbeat. A heartbeat that had to wait for an answer, or got an error, does not count."""
        member = x.member
        if member is None or member.joined is None:
            return
        pace: _Pace | None = member.notes.get(self.code)
        if pace is None or pace.generation != x.asked["generation_id"]:
            member.notes[self.code] = _Pace(x)
            return
        last, pace.last = pace.last, x
        if (
            last.link is not x.link
            or not last.heard
            or last.errors
            or last.answered is None
            or last.answered - last.received > GRACE_NS
        ):
            pace.pauses.clear()
            return
        pace.pauses.append(x.received - last.received)
        if len(pace.pauses) < LOOKED_AT or pace.said:
            return
        shortest = min(pace.pauses)
        if (shortest - LATE_NS) * 3 <= member.session_ns:
            yield KEPT
            return
        pace.said = True
        yield Broken(
            f"{member.name} sends a heartbeat every {shortest // NS_PER_MS} ms with a session timeout of "
            f"{member.session_ns // NS_PER_MS} ms",
            (last.seq, x.seq),
            f"one every {member.session_ns // NS_PER_MS // 3} ms, a third of the session timeout, or more often",
        )
