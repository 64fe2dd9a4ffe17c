"""CLIENT-13 requires that a member sends a sign of life before its session timeout is over."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ..judgement import SILENT
from ..rule import KEPT, Broken, Judgements, Rule, asked, closed
from ..subjects import REBALANCE_IN_PROGRESS, Exchange, Link, Member


class BeatsWithinItsSession(Rule):
    code = "CLIENT-13"
    title = "A member that has joined sends heartbeats before its session timeout has passed"
    what = (
        "Between two heartbeats (or commits) of a member that has joined and waits for nothing passes less than its session timeout. A "
        "process that sent nothing at all meanwhile is not blamed: it may have been stopped, or its network cut. Nor is one whose last "
        "request failed."
    )
    why = "The coordinator takes it for dead, its partitions go to others and are read twice, and the group rebalances when it comes back."
    source = ("clients.md#client-13", "KIP-62")
    fix = "Send heartbeats from a thread or task of its own, so that slow processing or a slow callback does not stop them."
    implies = ()
    kept = """
member *: session_timeout_ms=1000
do stable1(A)
pause 600
A: Heartbeat -> 0
pause 600
A: Heartbeat -> 0
"""
    broken = """
topics: t1:1
member *: session_timeout_ms=1000
do stable1(A)
pause 700
A: Metadata topics=[{name: $t1}]
pause 700
A: Heartbeat -> any
"""
    also_broken: ClassVar[dict[str, str]] = {
        # B was told of a rebalance by its last heartbeat, joined, and has sent none since then.
        "rejoined": """
topics: t1:2
member *: session_timeout_ms=1000
do stable2(A, B)
A: JoinGroup -> parked
B: Heartbeat -> 27
B: JoinGroup -> 0 generation_id=2
A -> 0
A: SyncGroup assignments=[for($A.member_id, b"for A"), for($B.member_id, b"for B")] -> 0
B: SyncGroup -> 0
pause 700
A: Heartbeat -> 0
B: Metadata topics=[{name: $t1}] -> any
pause 700
B: Heartbeat -> 25
""",
    }

    @asked(HEARTBEAT, OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP)
    def shows(self, x: Exchange) -> Judgements:
        """Judge the time between two signs of life."""
        member = x.speaker
        if member is None or member.joined is None or member.joining is not None or member.gone:
            return
        if member.lapsed is None:
            if x.received - member.alive > member.session_ns:
                yield SILENT
            elif x.key == HEARTBEAT:
                yield KEPT
        elif not told_to_rejoin(member) and x.received - member.lapsed > member.session_ns:
            yield self._silent(member, x.received - member.lapsed, x.seq, "")

    @closed
    def gone(self, link: Link) -> Judgements:
        """Judge a member that never came back after its connection ended. A static member need not leave (KIP-345)."""
        member = link.last
        if member is None or member.lapsed is None or member.link is not link or link.closed is None or told_to_rejoin(member):
            return
        if not member.instance_id and not member.gone:
            yield self._silent(member, link.closed[0] - member.lapsed, 0, " and closed its connection without leaving")

    def _silent(self, member: Member, ns: int, row: int, after: str) -> Broken:
        since = member.beat or member.synced or member.joined
        return Broken(
            f"{member.name} sent no heartbeat for {ns // NS_PER_MS} ms, longer than its session timeout of "
            f"{member.session_ns // NS_PER_MS} ms, though its process sent other requests{after}",
            (*(since.rows if since is not None else ()), *((row,) if row else ())),
            f"a heartbeat each {member.session_ns // NS_PER_MS // 3} ms or so, a third of the session timeout",
        )


def told_to_rejoin(member: Member) -> bool:
    """Return whether the member's last heartbeat since it joined was answered REBALANCE_IN_PROGRESS (27); CLIENT-17 judges its silence
    then. The answer to an earlier heartbeat, by which the member learned of the rebalance that is over, means nothing any more."""
    beat, joined = member.beat, member.joined
    return beat is not None and joined is not None and beat.seq > joined.answer_seq and REBALANCE_IN_PROGRESS in beat.errors
