"""CLIENT-62 requires that a Connect leader sends the same delay to all workers, and does not extend a running delay."""

from __future__ import annotations

from typing import NamedTuple

from groupmock_codec.api_keys import SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ..inside import CONNECT, INCREMENTAL, plan_of, work_given_by
from ..judgement import UNREADABLE
from ..order import GRACE_NS
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class Delay(NamedTuple):
    """The delay that a leader sent last, and the time at which it is over (ns)."""

    sync: Exchange
    over: int


class OneDelay(Rule):
    code = "CLIENT-62"
    title = "A Connect leader sends one delay to all workers and does not prolong it"
    what = (
        "All assignments of one round carry the same scheduled delay. While a delay runs, later rounds of the same leader carry what is "
        "left of "
        "it, or none: the work of a worker that went away waits for its return once."
    )
    why = "All workers come again when the delay is over; a leader that starts it anew with every round leaves the work undone for ever."
    source = ("clients.md#client-62", "embedded-protocols.md#kafka-connect", "KIP-415", "IncrementalCooperativeAssignor")
    fix = "Remember when the scheduled rebalance is due, and send every worker the time that is left until then."
    kept = """
member *: protocol_type=connect protocols=[p("compatible", worker(1, "u", 5))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, work(1, [], [], 2000))] -> 0
pause 1000
A: JoinGroup -> 0 generation_id=2
A: SyncGroup assignments=[for($A.member_id, work(1, [], [], 1000))] -> 0
"""
    broken = """
member *: protocol_type=connect protocols=[p("compatible", worker(1, "u", 5))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, work(1, [], [], 2000))] -> 0
pause 1000
A: JoinGroup -> 0 generation_id=2
A: SyncGroup assignments=[for($A.member_id, work(1, [], [], 2000))] -> 0
"""

    @asked(SYNC_GROUP)
    def delays(self, x: Exchange) -> Judgements:
        """Compare a leader's assignments with its own previous ones."""
        plan, member = plan_of(x), x.member
        if plan is None or member is None or plan.protocol_type != CONNECT or plan.protocol not in INCREMENTAL:
            return
        found = [each for _, each in work_given_by(plan, x)]
        if not found:
            return
        if any(each is None or each.wrong is not None for each in found):
            yield UNREADABLE
            return
        sent = sorted({each.delay for each in found if each is not None})
        before: Delay | None = member.notes.pop(self.code, None)
        wrong, rows = None, (plan.row, x.seq)
        if len(sent) > 1:
            wrong = f"sends delays of {sent[0]} to {sent[-1]} ms in one round"
        elif before is not None and x.at < before.over and x.at + sent[-1] * NS_PER_MS > before.over + GRACE_NS:
            left, rows = (before.over - x.at) // NS_PER_MS, (before.sync.seq, x.seq)
            wrong = f"sends a delay of {sent[-1]} ms while {left} ms are left of the one that runs"
        if sent[-1] > 0:
            over = x.at + sent[-1] * NS_PER_MS
            member.notes[self.code] = Delay(x, over)
        if wrong is not None:
            yield Broken(
                f"{member.name}, which leads generation {plan.generation}, {wrong}", rows, "one delay for all: what is left of the first"
            )
        elif sent[-1] > 0:
            yield KEPT
