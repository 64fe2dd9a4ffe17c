"""CLIENT-15 requires that a member sends no heartbeat while another one is unanswered."""

from __future__ import annotations

from groupmock_codec.api_keys import HEARTBEAT
from groupmock_codec.units import NS_PER_MS

from ..rule import KEPT, WARNING, Broken, Judgements, Rule, asked, calm
from ..subjects import Exchange


class OneHeartbeatAtATime(Rule):
    code = "CLIENT-15"
    title = "At most one heartbeat of a member is under way"
    severity = WARNING
    what = "A member waits for the answer to its heartbeat before it sends the next one, for as long as its session lasts."
    why = (
        "The answers tell it what to do, in order. With several under way it reacts to old news: a 22 or 27 of before the rebalance "
        "makes it join again, and the group rebalances for nothing. (Java sends one every interval behind a SyncGroup that waits.)"
    )
    source = ("clients.md#client-15", "AbstractCoordinator.HeartbeatThread")
    fix = "Send the next heartbeat only when the last one was answered or has timed out."
    implies = ("CLIENT-65",)
    kept = """
do stable1(A)
A: Heartbeat -> 0
A: Heartbeat -> 0
"""
    broken = """
do stable2(A, B)
A: JoinGroup -> parked
A: Heartbeat
A: Heartbeat
pause 300
B: JoinGroup -> 0
A -> 0
A -> 22
A -> 22
"""

    @calm(HEARTBEAT)
    def waits(self, x: Exchange) -> Judgements:
        yield KEPT

    @asked(HEARTBEAT)
    def beats(self, x: Exchange) -> Judgements:
        """Judge a heartbeat that is sent before the last one was answered. It is allowed on a new connection, or after a whole session."""
        member = x.member
        before = None if member is None else member.beat
        if before is None or before.link is not x.link or before.abandoned or (before.answered is not None and not before.heard):
            return
        if before.answered is not None and x.received >= before.answered:
            yield KEPT
        elif member is not None and x.received - before.received < member.session_ns:
            yield Broken(
                f"{member.name} sent a heartbeat {(x.received - before.received) // NS_PER_MS} ms after another one that was not "
                "answered yet",
                (*before.rows, x.seq),
                "the next heartbeat when the last one is answered",
            )
