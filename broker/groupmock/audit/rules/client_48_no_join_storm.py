"""CLIENT-48 requires that successful JoinGroups that change nothing are at least a backoff apart."""

from __future__ import annotations

from collections import deque
from typing import ClassVar, Final

from groupmock_codec.api_keys import JOIN_GROUP
from groupmock_codec.units import NS_PER_MS

from ..pace import ROUNDS
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import MEMBER_ID_REQUIRED, NONE, Exchange

BACKOFF_NS: Final = 100 * NS_PER_MS
"""The retry.backoff.ms of the Java client. A member with a reason to join sooner was told that reason."""


GENERATIONS: Final = 20
WITHIN_NS: Final = 2_000 * NS_PER_MS
"""So many successful JoinGroups within this time are too many even if each says something new. No application subscribes so often, and a
cooperative member joins twice for each rebalance."""


class _Storm:
    """The last JoinGroup of a connection, and the rows of those before it that followed each other too soon. `times` has the times (ns) of
    the JoinGroups to which no answer has led."""

    __slots__ = ("last", "rows", "times")

    def __init__(self, last: Exchange, rows: tuple[int, ...], times: deque[int]) -> None:
        self.last, self.rows, self.times = last, rows, times


class JoinsForAReason(Rule):
    code = "CLIENT-48"
    title = "A member that has joined does not join again and again for nothing"
    what = (
        "A JoinGroup that succeeded is not followed at once by the same JoinGroup, over and over, if the member was not told to rejoin "
        "and has nothing new to say (another subscription, other owned partitions). And nobody has something new to say "
        f"{GENERATIONS} times in {WITHIN_NS // NS_PER_MS} ms."
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

    also_broken: ClassVar[dict[str, str]] = {
        "each-time-with-another-subscription": """
do stable1(A)
repeat 11
A: JoinGroup protocols=[p(range, sub("t", "u"))] -> 0
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
pause 10
A: JoinGroup protocols=[p(range, sub("t"))] -> 0
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
pause 10
end
""",
        "leaves-and-joins": """
settings: group.initial.rebalance.delay.ms=0
do stable1(A)
repeat 21
A: LeaveGroup members=[who($A.member_id)] -> 0
A: JoinGroup member_id="" -> 79
A: JoinGroup -> 0
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
pause 10
end
""",
    }

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        before: _Storm | None = x.link.notes.get(self.code)
        times = deque[int](maxlen=GENERATIONS) if before is None else before.times
        storm = x.link.notes[self.code] = _Storm(x, (), times)
        if before is not None and before.last.heard and before.last.error == MEMBER_ID_REQUIRED:
            return  # This JoinGroup only completes the one before.
        if before is None or not _of_itself(before.last, x):
            times.clear()
            return
        times.append(x.received)
        if before.last.asked != x.asked:
            if len(times) == GENERATIONS and times[-1] - times[0] < WITHIN_NS:
                yield self._too_many(x, before.last, times)
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

    def _too_many(self, x: Exchange, before: Exchange, times: deque[int]) -> Broken:
        ms = (times[-1] - times[0]) // NS_PER_MS
        times.clear()
        return Broken(
            f"{x.who} joined {GENERATIONS} times within {ms} ms, each time with something new to say, though nobody had told it to join",
            (*before.rows, x.seq),
            "one JoinGroup for all the news, and the next one after a backoff",
        )


def _of_itself(before: Exchange, x: Exchange) -> bool:
    """Return whether the client joins without having been told to: its last JoinGroup succeeded, and no answer with an error has come since
    then."""
    member = x.speaker
    heard = None if member is None else member.heard
    return before.heard and before.error == NONE and heard is not None and heard.delivered and not heard.errors
