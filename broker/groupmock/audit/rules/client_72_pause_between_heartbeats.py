"""CLIENT-72 requires that a member waits for its heartbeat interval after a heartbeat that was answered without an error."""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import HEARTBEAT
from groupmock_codec.units import NS_PER_MS

from ..rule import KEPT, Broken, Judgements, NotJudged, Rule, answered, closed
from ..subjects import Exchange, Link

FIRST_LOOK_NS: Final = 1_000 * NS_PER_MS + 1
"""The heartbeats of a connection are counted for the first time after this time. It is no whole number of milliseconds, so that on a
virtual clock no heartbeat comes at the moment of the count."""
PAUSE_NS: Final = 20 * NS_PER_MS
"""A shorter pause than this, on average, is none: the interval of the Java client is 3 s, and not even tests set it so low."""
AT_MOST: Final = 100
"""This many heartbeats may come in addition, because a client may send one each interval behind a SyncGroup that waits for minutes."""


FEW: Final = NotJudged("the connection ended before its heartbeats had been counted")


class _Count:
    """The heartbeats of a connection that were counted already, and since when (ns). `first` is true if they were not counted before."""

    __slots__ = ("beats", "first", "since")

    def __init__(self, beats: int, since: int, first: bool = False) -> None:
        self.beats, self.since, self.first = beats, since, first


class PausesBetweenHeartbeats(Rule):
    code = "CLIENT-72"
    title = "Heartbeats are not sent in a loop without a pause"
    what = (
        f"After a heartbeat that was answered the next one comes after the heartbeat interval. More than {AT_MOST} heartbeats of a "
        f"connection, and one each {PAUSE_NS // NS_PER_MS} ms on top of those, are a loop."
    )
    why = (
        "One heartbeat in each third of the session keeps a member alive. The others cost the coordinator and the client a core each, and "
        "hold up the JoinGroups and commits of everybody else."
    )
    source = ("clients.md#client-72", "AbstractCoordinator.HeartbeatThread", "ConsumerConfig.HEARTBEAT_INTERVAL_MS_DOC")
    fix = "Send the next heartbeat when heartbeat.interval.ms has passed since the last one was sent."
    kept = """
do stable1(A)
repeat 6
A: Heartbeat -> 0
pause 400
end
"""
    broken = """
do stable1(A)
repeat 400
A: Heartbeat -> 0
pause 1
end
pause 1000
A: Heartbeat -> 0
"""

    @answered(HEARTBEAT)
    def beats(self, x: Exchange) -> Judgements:
        """Begin to count the heartbeats of a connection."""
        if x.answered is not None and self.code not in x.link.notes:
            x.link.notes[self.code] = _Count(x.link.beats, x.answered, first=True)
            self.later(x.answered + FIRST_LOOK_NS, x.link, lambda: self._look(x.link))
        return iter(())

    def _look(self, link: Link) -> Judgements:
        """Judge the heartbeats since the last count, and count again later if there were any. After half a session without a heartbeat
        the next one has a row and begins a new count."""
        before: _Count = link.notes[self.code]
        session_ns = 0 if link.last is None else link.last.session_ns
        if link.beats == before.beats and self.world.now - before.since >= session_ns // 2:
            del link.notes[self.code]
            return
        found = self._loop(link, self.world.now)
        if found is not None:
            link.notes[self.code] = None  # The count ends, because a client is blamed once for each connection.
            yield found
            return
        yield KEPT
        link.notes[self.code] = _Count(link.beats, self.world.now)
        self.later(self.world.now + max(FIRST_LOOK_NS, session_ns // 2), link, lambda: self._look(link))

    @closed
    def ends(self, link: Link) -> Judgements:
        """Judge the heartbeats since the last count. If there was no count before, a loop may have been too short to be seen."""
        count: _Count | None = link.notes.get(self.code)
        if count is None or link.closed is None:
            return
        found = self._loop(link, link.closed[0])
        if found is not None:
            yield found
        elif count.first:
            yield FEW

    def _loop(self, link: Link, now: int) -> Broken | None:
        before: _Count = link.notes[self.code]
        times, within = link.beats - before.beats, now - before.since
        if times <= AT_MOST + within // PAUSE_NS:
            return None
        who = "a client" if link.last is None else link.last.name
        beat = None if link.last is None else link.last.beat
        return Broken(
            f"{who} sent more than {AT_MOST + within // PAUSE_NS} heartbeats within {within // NS_PER_MS} ms",
            () if beat is None else beat.rows,
            "one heartbeat each heartbeat interval, a third of the session timeout or less",
        )
