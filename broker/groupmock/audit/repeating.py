"""Count heartbeats that equal the previous request of their connection, without showing them to the rules.

Nearly all rows of a journal are heartbeats that equal the previous request of the same connection and are answered immediately and without
an error. Rules are not called for those, because nothing has changed since the first one. Only the time at which the member was last heard
is noted (`again`). Rules do see a heartbeat after a pause longer than a third of the session timeout, and the first heartbeat after the
member did anything else on any connection. A running broker need not make rows of the repeated heartbeats: it is asked for them when a rule
or the world needs to know (`catch_up`), and the verdicts are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from groupmock_codec.units import NS_PER_MS

from ..journal.whose import json_of
from .subjects import Exchange, Link, Member

if TYPE_CHECKING:
    from ..journal.rows import RequestRow
    from .subjects import Pulse

SILENCE_NS: Final = 60_000 * NS_PER_MS
CALM: Final = 3
"""Pauses between heartbeats of up to 1/CALM of the session timeout are not judged, because Kafka advises such an interval
(heartbeat.interval.ms)."""


class Repeating:
    """Counts the repeated heartbeats on each connection. `pulse` is a running broker that knows of heartbeats without rows. `calm` is
    called with a heartbeat when it is repeated for the first time."""

    def __init__(self, pulse: Pulse | None) -> None:
        self.pulse = pulse
        self.calm: Callable[[Exchange], None] = lambda x: None
        self.links: dict[int, Link] = {}

    def catch_up(self, member: Member) -> None:
        """Count the member's heartbeats that the running broker repeated without rows."""
        if self.pulse is not None:
            for beat in member.beats:
                if beat.link.beat is beat:
                    at, row, count = self.pulse.beaten(beat.link.number)
                    beat.link.beats += count - beat.link.unreported
                    beat.link.unreported = count
                    if (at, row) > (beat.at, beat.seq):
                        self._again(beat, at, row)

    def catch_up_all(self) -> None:
        """Count the heartbeats of all members that the running broker repeated without rows."""
        for link in list(self.links.values()):
            if link.beat is not None and link.beat.member is not None:
                self.catch_up(link.beat.member)

    def may_repeat(self, x: Exchange, member: Member) -> None:
        """Note a heartbeat that may be repeated after its answer."""
        link = x.link
        link.beat, link.calm = x, (member.session_ns or SILENCE_NS) // CALM
        if self.pulse is not None:
            link.unreported = self.pulse.beaten(link.number)[2]

    def repeats(self, row: RequestRow) -> bool:
        """Return whether this request is a heartbeat that equals the previous request of its connection and comes after a short pause."""
        link = self.links.get(row.connection)
        if link is None or link.beat is None or link.beat.member is None:
            return False
        self.catch_up(link.beat.member)
        beat = link.beat
        return bool(
            row.t - beat.at <= link.calm
            and row.received >= (beat.answered or 0)
            and (row.api_key, row.api_version, row.client_id) == (beat.key, beat.version, beat.client_id)
            and json_of(row.message) == beat.asked
        )

    def again(self, row: RequestRow) -> None:
        """Note that a repeated heartbeat was answered at once and without an error."""
        link = self.links[row.connection]
        assert link.beat is not None
        link.beats += 1
        self._again(link.beat, row.t, row.seq)

    def calm_until(self, number: int) -> int:
        """Return the time (ns) until which rows of heartbeats that equal the previous one of this connection are not needed, or -1 if
        all of them are."""
        link = self.links.get(number)
        return -1 if link is None or link.beat is None else link.beat.at + link.calm

    def _again(self, beat: Exchange, at: int, row: int) -> None:
        member, link = beat.member, beat.link
        assert member is not None
        beat.at = beat.received = beat.answered = at
        if beat.written is not None:
            beat.written = link.order.last = at
            link.order.written[beat.key] = at, beat.answer_seq
        if row:
            beat.seq, beat.answer_seq = row, row + 1
        member.seen, member.alive, member.lapsed, member.heard = max(member.seen, at), max(member.alive, at), None, beat
        # `doubt` stays unchanged, because the client was never silent for long between repeated heartbeats.
        member.confirmed = max(member.confirmed, at)
        if member.beat is None or at >= member.beat.at:
            member.beat = beat
        link.spoke = at
        if not beat.repeated:
            beat.repeated = True
            self.calm(beat)

    def disturb(self, member: Member) -> None:
        """Note that the member sent another request, so that rules judge its next heartbeat on any connection."""
        self.catch_up(member)
        for beat in member.beats:
            if beat.link.beat is beat:
                beat.link.beat = None
                if self.pulse is not None:
                    self.pulse.retell(beat.link.number)
