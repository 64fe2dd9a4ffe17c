"""CLIENT-17 requires that a member keeps sending heartbeats after REBALANCE_IN_PROGRESS (27) until it sends its JoinGroup."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT
from groupmock_codec.units import NS_PER_MS

from ..judgement import SILENT
from ..rule import KEPT, Broken, Judgements, Rule, asked, closed
from ..subjects import Exchange, Link, Member
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
topics: t1:2
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

    also_broken: ClassVar[dict[str, str]] = {
        # B does not join at all; its next heartbeat tells it that it has lost its place.
        "heartbeat-after-session": """
topics: t1:2
member *: session_timeout_ms=1000 rebalance_timeout_ms=10000
do stable2(A, B)
A: JoinGroup -> parked
B: Heartbeat -> 27
pause 700
B: Metadata topics=[{name: $t1}] -> any
pause 700
B: Heartbeat -> 25
A -> 0
""",
        "hangs-up": """
topics: t1:2
member *: session_timeout_ms=1000 rebalance_timeout_ms=10000
do stable2(A, B)
A: JoinGroup -> parked
B: Heartbeat -> 27
pause 700
B: Metadata topics=[{name: $t1}] -> any
pause 700
B drops
A -> 0
""",
    }

    @asked(JOIN_GROUP, HEARTBEAT, OFFSET_COMMIT)
    def comes(self, x: Exchange) -> Judgements:
        """Judge whether the next sign of life comes within the session timeout."""
        member = x.speaker
        if member is None or member.joined is None or not told_to_rejoin(member) or member.joining is not None or member.gone:
            return
        if member.lapsed is None:
            if x.received - member.alive > member.session_ns:
                yield SILENT
            elif x.key == JOIN_GROUP:
                yield KEPT
        elif x.received - member.lapsed > member.session_ns:
            yield self._silent(member, x.received - member.lapsed, f"until its {x.name} came", (x.seq,))

    @closed
    def gone(self, link: Link) -> Judgements:
        """Judge a member that never came back after its connection ended. A static member need not leave (KIP-345)."""
        member = link.last
        if member is None or member.lapsed is None or member.link is not link or link.closed is None or not told_to_rejoin(member):
            return
        if not member.instance_id and not member.gone:
            yield self._silent(member, link.closed[0] - member.lapsed, "until it closed its connection without leaving", ())

    def _silent(self, member: Member, ns: int, until: str, rows: tuple[int, ...]) -> Broken:
        assert member.beat is not None
        return Broken(
            f"{member.name} was told of a rebalance in its heartbeat and sent no other for {ns // NS_PER_MS} ms, {until}: its session of "
            f"{member.session_ns // NS_PER_MS} ms had passed",
            (*member.beat.rows, *rows),
            "heartbeats as before until JoinGroup is sent",
        )
