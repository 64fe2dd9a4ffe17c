"""CLIENT-17 requires that a member keeps sending heartbeats after REBALANCE_IN_PROGRESS (27) until it sends its JoinGroup."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP
from groupmock_codec.units import NS_PER_MS

from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange
from .client_13_alive_within_session import told_to_rejoin


class BeatsUntilItRejoins(Rule):
    code = "CLIENT-17"
    title = "A member told of a rebalance goes on with heartbeats until it joins"
    what = (
        "After a heartbeat answered 27 a member has its rebalance timeout to finish its work, and sends heartbeats meanwhile: its "
        "JoinGroup comes before its session timeout has passed since the last of them."
    )
    why = (
        "The session goes on counting during a rebalance. If it lapses, the member is dropped, joins as a new one, and the group "
        "rebalances a second time; what it did meanwhile is done twice."
    )
    source = ("clients.md#client-17", "AbstractCoordinator.HeartbeatResponseHandler")
    fix = "Do not stop heartbeats on 27; stop them when JoinGroup is sent."
    implies = ()
    kept = """
member *: session_timeout_ms=1000 rebalance_timeout_ms=10000
do stable2(A, B)
A: JoinGroup -> parked
B: Heartbeat -> 27
pause 600
B: Heartbeat -> 27
pause 600
B: JoinGroup -> 0
A -> 0
"""
    broken = """
topics: t1:1
member *: session_timeout_ms=1000 rebalance_timeout_ms=10000
do stable2(A, B)
A: JoinGroup -> parked
B: Heartbeat -> 27
pause 700
B: Metadata topics=[{name: $t1}]
pause 700
B: JoinGroup -> any
A -> 0
"""

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Judge whether the JoinGroup comes within the session timeout."""
        member = x.speaker
        if member is None or member.joined is None or not told_to_rejoin(member) or member.joining is not None or member.gone:
            return
        if member.lapsed is None:
            yield KEPT
        elif x.received - member.lapsed > member.session_ns and member.beat is not None:
            yield Broken(
                f"{member.name} was told of a rebalance in its heartbeat, sent none for {(x.received - member.lapsed) // NS_PER_MS} ms "
                f"after that, and joined when its session of {member.session_ns // NS_PER_MS} ms had passed",
                (*member.beat.rows, x.seq),
                "heartbeats as before until JoinGroup is sent",
            )
