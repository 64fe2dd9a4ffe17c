"""CLIENT-99 requires that a share consumer acknowledges records before their locks end, or renews the locks."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec.api_keys import SHARE_ACKNOWLEDGE, SHARE_FETCH
from groupmock_codec.units import NS_PER_MS

from ..judgement import SILENT, SLOW_BROKER, TROUBLED
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, asked
from ..share_example import SESSION, WHO, accepts, renews
from ..share_sessions import Lock, ShareSession, acknowledged, overlap, session_of
from ..subjects import Exchange

GRACE: Final = 10
"""A tenth of the lock's time more is no mistake, because an acknowledgement that was sent in time may arrive late."""
LATE: Final = f"""{SESSION}
pause 3400
{accepts(0, 2, 2)}
"""


class AcknowledgesWithinItsLocks(Rule):
    code = "CLIENT-99"
    title = "A share consumer acknowledges records before their locks end, or renews the locks"
    severity = WARNING
    what = (
        "Between the answer that delivered a record, or renewed its lock, and the next acknowledgement of the record passes no more than "
        "`acquisition_lock_timeout_ms` of that answer. The protocol does not forbid to be later, so this is advice. A client that sent "
        "nothing on the connection in the second half of that time may have been stopped: it is blamed when that happens twice in a row."
    )
    why = (
        "After the end of the lock the record is available again, and another member may have it. The broker refuses the acknowledgement "
        "(121), and work that was done is done again, up to the delivery limit, at which the record is archived although it was processed."
    )
    source = ("clients.md#client-99", "share-groups.md#sg-240", "share-groups.md#sg-243", "KIP-932", "KIP-1222")
    fix = (
        "Fetch fewer records at a time (max.poll.records), renew the locks of slow work (AcknowledgeType.RENEW), or raise "
        "share.record.lock.duration.ms of the group."
    )
    implies = ()
    settings: ClassVar[dict[str, str]] = {"group.share.record.lock.duration.ms": "3000"}
    kept = f"""{SESSION}
pause 1500
{accepts(0, 2, 2)}
"""
    broken = f"""{SESSION}
pause 2000
A: ShareFetch v1 {WHO} share_session_epoch=2 -> 0
pause 1500
{accepts(0, 2, 3)}
"""
    also_kept: ClassVar[dict[str, str]] = {
        "renews": f"""{SESSION}
pause 2000
{renews(0, 2, 2)}
pause 2000
{accepts(0, 2, 3)}
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "twice": f"""{LATE}
A: ShareFetch v1 {WHO} share_session_epoch=3 -> 0
pause 3400
{accepts(0, 2, 4)}
""",
    }

    @asked(SHARE_FETCH, SHARE_ACKNOWLEDGE)
    def in_time(self, x: Exchange) -> Judgements:
        """Judge the acknowledgement in a request whose records the client has had for longest."""
        session = session_of(x)
        if session is None:
            return
        locks = [
            lock
            for place, run, _ in acknowledged(x)
            if place in session.records
            for lock in session.records[place].locks
            if lock.lasts and overlap(lock.run, run)
        ]
        if not locks:
            return
        late, lock = max(((_late(x, lock), lock) for lock in locks), key=lambda each: each[0])
        if x.link.troubled >= (lock.since.answered or 0) or x.link.lossy:
            yield TROUBLED
        elif late <= 0:
            session.late = None
            yield KEPT
        elif x.behind or late < lock.lasts // GRACE:
            yield SLOW_BROKER
        else:
            yield from self._judged(x, session, lock, late)

    def _judged(self, x: Exchange, session: ShareSession, lock: Lock, late: int) -> Judgements:
        before, session.late = session.late, x.bare()
        half = (lock.since.answered or 0) + lock.lasts // 2
        alive = session.said is not None and session.said.seq > lock.since.seq and session.said.received >= half
        if not alive and before is None:
            yield SILENT
            return
        first, last = lock.run
        records = f"record {first}" if first == last else f"records {first} to {last}"
        how = "though it sent other requests meanwhile" if alive or before is None else "as with the records before"
        yield Broken(
            f"{x.who} acknowledged {records} {(lock.lasts + late) // NS_PER_MS} ms after it got them, longer than their lock of "
            f"{lock.lasts // NS_PER_MS} ms, {how}",
            (*(before.rows if before is not None and not alive else ()), *lock.since.rows, x.seq),
            f"an acknowledgement or a renewal within {lock.lasts // NS_PER_MS} ms",
        )


def _late(x: Exchange, lock: Lock) -> int:
    """Return how long (ns) after the end of the lock the request came, without the time in which the broker was held up."""
    since = lock.since
    began = since.answered if since.written is None else since.written
    return int(x.received - (began or x.received)) - lock.lasts - (x.stalled - since.stalled_when_written)
