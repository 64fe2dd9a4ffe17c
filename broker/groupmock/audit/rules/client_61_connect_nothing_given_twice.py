"""CLIENT-61 requires that a Connect leader assigns no task to two workers, and none that another worker reports as running."""

from __future__ import annotations

from groupmock_codec.api_keys import SYNC_GROUP

from ...rounds.embedded import Partition
from ..inside import CONNECT, INCREMENTAL, named, plan_of, running_in, work_given_by
from ..judgement import UNREADABLE
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class WorkGivenOnce(Rule):
    code = "CLIENT-61"
    title = "A Connect leader assigns no connector or task to two workers, and none that runs"
    what = (
        "In one round no connector or task is assigned to two workers, and in `compatible` and `sessioned`, where an assignment is what "
        "is new, "
        "none that a worker reports as running."
    )
    why = "Two instances of one task copy everything twice."
    source = ("clients.md#client-61", "KIP-415", "IncrementalCooperativeAssignor")
    fix = "Assign only what nobody reports: revoke in one round, give away in the next."
    kept = """
member *: protocol_type=connect protocols=[p("compatible", worker(1, "u", 5))]
do completing2(A, B)
A: SyncGroup assignments=[for($A.member_id, work(1, [held("c", -1)])), for($B.member_id, work(1, [held("c", 0)]))] -> 0
B: SyncGroup -> 0
"""
    broken = """
member *: protocol_type=connect protocols=[p("compatible", worker(1, "u", 5))]
do completing2(A, B)
A: SyncGroup assignments=[for($A.member_id, work(1, [held("c", -1, 0)])), for($B.member_id, work(1, [held("c", 0)]))] -> 0
B: SyncGroup -> 0
"""

    @asked(SYNC_GROUP)
    def gives(self, x: Exchange) -> Judgements:
        """Judge the leader of a generation in which all metadata and assignments can be read."""
        plan, member = plan_of(x), x.member
        if plan is None or member is None or plan.protocol_type != CONNECT:
            return
        given, running = work_given_by(plan, x), running_in(plan).values()
        if any(each is None or each.wrong is not None for each in (*running, *(found for _, found in given))):
            yield UNREADABLE
            return
        owner: dict[Partition, str] = {}
        twice = {task for whom, found in given if found is not None for task in found.assigned if owner.setdefault(task, whom) != whom}
        reported = frozenset().union(*(each.allocation or frozenset() for each in running if each is not None))
        again = owner.keys() & reported if plan.protocol in INCREMENTAL else set()
        parts = [f"assigns {named(twice)} to two workers"] if twice else []
        parts += [f"assigns {named(again)}, which is reported as running"] if again else []
        if not parts:
            if owner:
                yield KEPT
            return
        yield Broken(
            f"{member.name}, which leads generation {plan.generation}, {' and '.join(parts)}",
            (plan.row, x.seq),
            "every connector and task assigned to one worker, and only if no worker reports it",
        )
