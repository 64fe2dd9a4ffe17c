"""CLIENT-16 requires that a member joins within the rebalance timeout after REBALANCE_IN_PROGRESS (27)."""

from __future__ import annotations

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import REBALANCE_IN_PROGRESS, Exchange, Member


class RejoinsInTime(Rule):
    code = "CLIENT-16"
    title = "After REBALANCE_IN_PROGRESS the member joins within its rebalance timeout"
    what = (
        "A member whose Heartbeat, SyncGroup or OffsetCommit is answered 27 sends JoinGroup (or leaves) before its rebalance timeout has "
        "passed. A commit answered 27 between JoinGroup and SyncGroup is no such news. A process that sent nothing else meanwhile is not "
        "blamed."
    )
    why = "All others wait for it until then, and after that it is a member no more: its partitions are read by somebody else as well."
    source = ("clients.md#client-16", "KIP-62")
    fix = "Rejoin as soon as the work in hand is done; leave the group if that takes longer than the rebalance timeout."
    implies = ()
    kept = """
do stable2(A, B)
A: JoinGroup -> parked
B: Heartbeat -> 27
B: JoinGroup -> 0 generation_id=2
A -> 0 generation_id=2
"""
    broken = """
member *: session_timeout_ms=1000 rebalance_timeout_ms=1000
do stable2(A, B)
A: JoinGroup -> parked
B: Heartbeat -> 27
pause 700
B: Heartbeat -> 27
pause 800
B: Heartbeat -> 25
A -> 0 generation_id=2
"""

    @answered(HEARTBEAT, SYNC_GROUP, OFFSET_COMMIT)
    def told(self, x: Exchange) -> Judgements:
        """Note that the member was told of a rebalance, or that the rebalance is over."""
        member = x.member
        if member is None or member.joined is None or not x.heard:
            return iter(())
        if x.key == HEARTBEAT and not x.errors:
            member.notes.pop(self.code, None)
        if REBALANCE_IN_PROGRESS in x.errors and x.answered is not None and self.code not in member.notes and _stands(x, member):
            member.notes[self.code] = x
            self.later(x.answered + member.rebalance_ns + self.world.slack, member, lambda: self._late(x, member))
        return iter(())

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Note that the member has joined again."""
        if x.speaker is not None and x.speaker.notes.pop(self.code, None) is not None:
            yield KEPT

    def _late(self, x: Exchange, member: Member) -> Judgements:
        heard = member.heard
        well = heard is not None and heard.delivered and heard.errors <= {REBALANCE_IN_PROGRESS}
        if member.notes.get(self.code) is not x or x.answered is None or not well or member.link.gone or member.leaving or member.gone:
            return
        if self.world.processes.spoke(member) > x.answered + self.world.slack:
            del member.notes[self.code]
            yield Broken(
                f"{member.name} was told of a rebalance (REBALANCE_IN_PROGRESS, in answer to {x.name}) and did not join for "
                f"{member.rebalance_ns // NS_PER_MS} ms, its rebalance timeout, though it sent other requests",
                x.rows,
                "a JoinGroup before the rebalance timeout has passed, or a LeaveGroup",
            )


def _stands(x: Exchange, member: Member) -> bool:
    """Return whether the request names the member's present generation and, for a commit, whether the member has received its assignment
    there."""
    synced = member.synced
    return x.key != OFFSET_COMMIT or (synced is not None and member.joining is None and synced.asked["generation_id"] == member.generation)
