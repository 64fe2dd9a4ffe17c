"""CLIENT-16 requires that a member joins within the rebalance timeout after REBALANCE_IN_PROGRESS (27)."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ..judgement import SILENT
from ..order import GRACE_NS
from ..rule import KEPT, Broken, Judgements, Rule, answered_again, asked, asked_again
from ..subjects import REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID, Exchange, Member


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

    also_broken: ClassVar[dict[str, str]] = {
        # The coordinator removes B when the rebalance timeout has passed, and B hears of that at once.
        "fast-heartbeats": """
member *: session_timeout_ms=3000 rebalance_timeout_ms=3000
do stable2(A, B)
A: JoinGroup -> parked
B: Heartbeat -> 27
repeat 6
pause 400
B: Heartbeat -> 27
end
pause 700
B: Heartbeat -> 25
A -> 0 generation_id=2
""",
        "joins-too-late": """
member *: session_timeout_ms=1000 rebalance_timeout_ms=1000
do stable2(A, B)
A: JoinGroup -> parked
B: Heartbeat -> 27
pause 900
B: Heartbeat -> 27
pause 400
B: JoinGroup -> 25
A -> 0 generation_id=2
""",
    }

    @asked_again(HEARTBEAT, SYNC_GROUP, OFFSET_COMMIT)
    def speaks(self, x: Exchange) -> Judgements:
        """Note when the member's process sent its last request before this one."""
        told: Told | None = None if x.member is None else x.member.notes.get(self.code)
        if told is not None and x.member is not None:
            told.spoke = self.world.processes.spoke(x.member)
        yield from ()

    @answered_again(HEARTBEAT, SYNC_GROUP, OFFSET_COMMIT)
    def told(self, x: Exchange) -> Judgements:
        """Note that the member was told of a rebalance, or that the rebalance is over. Judge a member that the coordinator has removed,
        as it does at the end of the rebalance timeout."""
        member = x.member
        if member is None or member.joined is None or not x.heard or x.answered is None:
            return
        told: Told | None = member.notes.get(self.code)
        if x.key == HEARTBEAT and not x.errors:
            member.notes.pop(self.code, None)
        elif told is not None and UNKNOWN_MEMBER_ID in x.errors:
            del member.notes[self.code]
            if x.answered - told.began >= member.rebalance_ns:
                how = " until the coordinator removed it (UNKNOWN_MEMBER_ID)"
                yield self._missed(told, member, x.answered, how, x.rows) if self._awake(told, member) else SILENT
        elif told is None and REBALANCE_IN_PROGRESS in x.errors and member.joining is None and _stands(x, member):
            rebalance = member.group.fold.rebalance
            began = x.answered if rebalance is None else min(rebalance.began, x.answered)
            told = member.notes[self.code] = Told(x, began)
            self.later(x.answered + member.rebalance_ns + GRACE_NS, member, lambda: self._late(told, member))

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Judge when the member joins again."""
        member = x.speaker
        told: Told | None = None if member is None else member.notes.pop(self.code, None)
        if told is None or member is None:
            return
        told.spoke = self.world.processes.spoke(member)
        if x.received - told.at <= member.rebalance_ns:
            yield KEPT
        elif x.received - told.at > member.rebalance_ns + GRACE_NS:
            yield self._missed(told, member, x.received, "", (x.seq,)) if self._awake(told, member) else SILENT

    def _late(self, told: Told, member: Member) -> Judgements:
        heard = member.heard
        well = heard is not None and heard.delivered and heard.errors <= {REBALANCE_IN_PROGRESS}
        if member.notes.get(self.code) is not told or not well or member.link.gone or member.leaving or member.gone:
            return
        if self.world.processes.spoke(member) > told.at + GRACE_NS:
            del member.notes[self.code]
            yield self._missed(told, member, self.world.now, "", ())

    def _awake(self, told: Told, member: Member) -> bool:
        """Return whether the member's process sent requests after the answer, and not only a last one when it woke up."""
        return told.spoke > told.at + member.rebalance_ns // 2

    def _missed(self, told: Told, member: Member, now: int, until: str, rows: tuple[int, ...]) -> Broken:
        return Broken(
            f"{member.name} was told of a rebalance (REBALANCE_IN_PROGRESS, in answer to {told.x.name}) and did not join for "
            f"{(now - told.at) // NS_PER_MS} ms{until}; its rebalance timeout is {member.rebalance_ns // NS_PER_MS} ms, and it sent other "
            "requests",
            (*told.x.rows, *rows),
            "a JoinGroup before the rebalance timeout has passed, or a LeaveGroup",
        )


class Told:
    """The answer by which a member learned of a rebalance. `began` is the time (ns) at which the rebalance began, from which the
    coordinator counts the rebalance timeout, and `spoke` the time of the process's last request but one."""

    __slots__ = ("at", "began", "spoke", "x")

    def __init__(self, x: Exchange, began: int) -> None:
        self.x, self.at, self.began = x, x.answered or 0, began
        self.spoke = -1


def _stands(x: Exchange, member: Member) -> bool:
    """Return whether the request names the member's present generation and, for a commit, whether the member has received its assignment
    there."""
    synced = member.synced
    return x.key != OFFSET_COMMIT or (synced is not None and member.joining is None and synced.asked["generation_id"] == member.generation)
