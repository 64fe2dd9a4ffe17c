"""CLIENT-59 requires that a Connect worker reports its previous allocation without revoked tasks and with assigned ones."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ..inside import CONNECT, INCREMENTAL, named, one_process, workers_of
from ..judgement import TWO_CONNECTIONS, UNREAD, UNREADABLE
from ..rule import Broken, Judgements, Rule, asked
from ..subjects import Exchange


class AllocationAddsUp(Rule):
    code = "CLIENT-59"
    title = "A Connect worker reports the allocation that its assignments add up to"
    what = (
        "In `compatible` and `sessioned` an assignment is a difference: the allocation in the next JoinGroup is the one reported before, "
        "without "
        "what was revoked, with what was assigned."
    )
    why = "The leader knows of running connectors and tasks by these reports alone: one that is missing is started elsewhere, too."
    source = ("clients.md#client-59", "KIP-415", "WorkerCoordinator.onJoinComplete")
    fix = "Apply every assignment to what is running, and report the outcome."
    kept = """
member *: protocol_type=connect protocols=[p("compatible", worker(1, "u", 5))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, work(1, [held("c", -1, 0)]))] -> 0
pause 300
A: JoinGroup protocols=[p("compatible", worker(1, "u", 5, work(1, [held("c", -1, 0)])))] -> 0
"""
    broken = """
member *: protocol_type=connect protocols=[p("compatible", worker(1, "u", 5))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, work(1, [held("c", -1, 0)]))] -> 0
pause 300
A: JoinGroup protocols=[p("compatible", worker(1, "u", 5, work(1, [held("c", -1)])))] -> 0
"""

    @asked(JOIN_GROUP)
    def reports(self, x: Exchange) -> Judgements:
        """Judge a JoinGroup on the connection of the last SyncGroup. On other connections nothing is judged, because a worker that lost
        its coordinator stops all tasks and reports none."""
        member = x.member
        if x.asked["protocol_type"] != CONNECT or member is None or member.protocol not in INCREMENTAL or member.synced is None:
            return
        found = workers_of(x).get(member.protocol)
        if found is None or found.wrong is not None or member.told is None:
            yield UNREADABLE
            return
        if not one_process(x, member.synced):
            yield TWO_CONNECTIONS
            return
        reported = found.allocation or frozenset()
        if reported == member.told:
            if reported:
                yield self.right(x, member.synced)
            return
        if not reported and x.link is not member.synced.link:
            return
        if not self.knew(x, member.synced):
            yield UNREAD
            return
        missing, strange = member.told - reported, reported - member.told
        parts = [f"leaves out {named(missing)}"] if missing else []
        parts += [f"adds {named(strange)}"] if strange else []
        yield Broken(
            f"{member.name} reports an allocation that {' and '.join(parts)}, against what its assignments add up to",
            (*member.synced.rows, x.seq),
            "the allocation before, without what was revoked, with what was assigned",
        )
