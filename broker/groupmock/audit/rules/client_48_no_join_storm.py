"""CLIENT-48 requires that successful JoinGroups that change nothing are at least a backoff apart."""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import JOIN_GROUP
from groupmock_codec.units import NS_PER_MS

from ..pace import ROUNDS
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import NONE, Exchange

BACKOFF_NS: Final = 100 * NS_PER_MS
"""The retry.backoff.ms of the Java client. A member with a reason to join sooner was told that reason."""


class _Storm:
    """The last JoinGroup of a connection, and the rows of those before it that followed each other too soon."""

    __slots__ = ("last", "rows")

    def __init__(self, last: Exchange, rows: tuple[int, ...]) -> None:
        self.last, self.rows = last, rows


class JoinsForAReason(Rule):
    code = "CLIENT-48"
    title = "A member that has joined does not join again and again for nothing"
    what = (
        "A JoinGroup that succeeded is not followed at once by the same JoinGroup, over and over, if the member was not told to rejoin "
        "and has "
        "nothing new to say (another subscription, other owned partitions)."
    )
    why = "A JoinGroup of the leader, or a changed one of any member, makes the whole group rebalance: everybody stops, again and again."
    source = ("clients.md#client-48", "KIP-580")
    fix = "Rejoin when told to, or when the subscription or the topics have changed; otherwise wait for retry.backoff.ms at least."
    implies = ()
    kept = """
do stable1(A)
pause 300
A: JoinGroup -> 0 generation_id=2
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
"""
    broken = """
do stable1(A)
repeat 5
A: JoinGroup -> 0
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
end
"""

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        before: _Storm | None = x.link.notes.get(self.code)
        storm = x.link.notes[self.code] = _Storm(x, ())
        if before is None or not _same(before.last, x):
            return
        if x.received - before.last.received >= BACKOFF_NS:
            yield KEPT
            return
        storm.rows = (*before.rows, *before.last.rows)
        if len(storm.rows) >= 2 * ROUNDS:
            yield Broken(
                f"{x.who} joined {ROUNDS + 1} times in a row without any news, the last time "
                f"{(x.received - before.last.received) // NS_PER_MS} ms after the time before",
                (*storm.rows, x.seq),
                "one JoinGroup, and the next one when there is a reason",
            )
            storm.rows = ()


def _same(before: Exchange, x: Exchange) -> bool:
    """Return whether the request repeats the previous JoinGroup, although that one succeeded and no other answer has come since then."""
    member = x.speaker
    heard = None if member is None else member.heard
    return before.heard and before.error == NONE and before.asked == x.asked and heard is not None and heard.delivered and not heard.errors
