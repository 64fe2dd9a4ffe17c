"""CLIENT-80 requires that a leader assigns within its session, or sends heartbeats while it assigns."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ..judgement import SILENT, TROUBLED
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange, Member

TIMES = "member *: session_timeout_ms=1000 rebalance_timeout_ms=5000\n"
LATE = """
do completing1(A)
pause 1200
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 25
"""


class AssignsWithinItsSession(Rule):
    code = "CLIENT-80"
    title = "A leader assigns within its session timeout, or sends heartbeats meanwhile"
    what = (
        "Between the JoinGroup answer that makes a member the leader and its SyncGroup passes less than its session timeout without a "
        "heartbeat. A process that sent nothing at all meanwhile may have been stopped: it is blamed when that happens twice in a row."
    )
    why = (
        "The session goes on counting while the leader assigns. A leader whose assignor is slower is removed, its assignment is refused "
        "(25), and the next leader, or the same one under a new id, does it all again: the group never becomes stable."
    )
    source = ("clients.md#client-80", "KAFKA-10122", "AbstractCoordinator.JoinGroupResponseHandler")
    fix = (
        "Send heartbeats from the JoinGroup answer on, from a thread or task that the assignor does not block, or make the assignor faster."
    )
    implies = ("CLIENT-13",)
    kept = f"""{TIMES}
do completing1(A)
pause 900
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
"""
    broken = f"""{TIMES}{LATE}
A: JoinGroup member_id="" -> 79
A: JoinGroup -> 0 eventually
pause 1200
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 25
"""
    also_kept: ClassVar[dict[str, str]] = {
        "heartbeats": f"""{TIMES}
do completing1(A)
repeat 4
pause 300
A: Heartbeat -> 0
end
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        # Other threads of the process go on, on a connection that it already had, so it was not stopped.
        "sends-other-requests": f"""topics: t1:1
{TIMES}
A/2: Metadata topics=[{{name: $t1}}] client_id=A -> any
do completing1(A)
A: Metadata topics=[{{name: $t1}}] -> any
pause 700
A/2: Metadata topics=[{{name: $t1}}] client_id=A -> any
pause 500
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0)))] -> 25
""",
    }

    @asked(SYNC_GROUP)
    def assigns(self, x: Exchange) -> Judgements:
        """Judge the first SyncGroup of a leader after its JoinGroup answer."""
        member = x.member
        if member is None or not member.leads or member.joined is None or member.joined.answered is None or member.syncing is not None:
            return
        synced = member.synced is not None and member.synced.seq > member.joined.seq
        if synced or member.generation != x.asked["generation_id"]:
            return
        if x.link.troubled >= member.joined.answered:
            yield TROUBLED
            return
        silent = x.received - member.alive
        if silent <= member.session_ns:
            x.link.notes.pop(self.code, None)
            yield KEPT
            return
        before: tuple[str, Exchange] | None = x.link.notes.get(self.code)
        x.link.notes[self.code] = member.group.name, x
        if member.lapsed is not None:
            yield self._slow(x, member, silent, "though its process sent other requests", ())
        elif before is not None and before[0] == member.group.name:
            yield self._slow(x, member, silent, "as when it led before", before[1].rows)
        else:
            yield SILENT

    def _slow(self, x: Exchange, member: Member, silent: int, how: str, rows: tuple[int, ...]) -> Broken:
        assert member.joined is not None
        return Broken(
            f"{member.name} leads generation {member.generation} and sent neither its assignments nor a heartbeat for "
            f"{silent // NS_PER_MS} ms, longer than its session timeout of {member.session_ns // NS_PER_MS} ms, {how}",
            (*rows, *member.joined.rows, x.seq),
            "heartbeats while the assignor works, or an assignor that takes less than the session timeout",
        )
