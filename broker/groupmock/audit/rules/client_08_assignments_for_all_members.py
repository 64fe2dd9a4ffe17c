"""CLIENT-08 requires that the leader sends one assignment for each member in its JoinGroup answer."""

from __future__ import annotations

from collections import Counter

from groupmock_codec.api_keys import SYNC_GROUP

from ...text.printable import one_line
from ..inside import Plan, plan_of
from ..request_contents import assignments_of
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange

SHOWN = 3


class EveryMemberOnce(Rule):
    code = "CLIENT-08"
    title = "The leader's assignments name every member once, and nobody else"
    what = "The leader's SyncGroup has one assignment for every id of the member list in its JoinGroup answer, and none for any other id."
    why = (
        "A member that the leader leaves out is answered with no bytes at all, which the consumers of Java, aiokafka and kafka-python "
        "cannot read: they raise. An entry for somebody else is lost, and of two for one member the coordinator keeps the last."
    )
    source = ("clients.md#client-08", "embedded-protocols.md#consumer-assignment", "ConsumerPartitionAssignor", "ConsumerProtocol")
    fix = "Build the assignments from the member list of the JoinGroup answer, with an empty Assignment for those that get nothing."
    kept = """
do stable3(A, B, C)
"""
    broken = """
do completing2(A, B)
A: SyncGroup assignments=[for($A.member_id, b"for A")] -> 0
B: SyncGroup -> 0 assignment=b""
"""

    @asked(SYNC_GROUP)
    def covers(self, x: Exchange) -> Judgements:
        """Judge the assignments of a leader that was told to assign."""
        plan = plan_of(x)
        if plan is None or plan.skip:
            return
        wrong = _wrong(plan, Counter(member for member, _ in assignments_of(x)))
        if not wrong:
            yield KEPT
            return
        assert x.member is not None
        yield Broken(
            f"{x.member.name}, which leads generation {plan.generation} of {len(plan.claims)} members, {' and '.join(wrong)}",
            (plan.row, x.seq),
            "one assignment for every member of the list in its JoinGroup answer, an empty one for those that get nothing",
        )


def _wrong(plan: Plan, named: Counter[str]) -> list[str]:
    left_out, others = plan.claims.keys() - named.keys(), named.keys() - plan.claims.keys()
    twice = {member for member, times in named.items() if times > 1}
    told = {"leaves out": left_out, "assigns to a member that it was not told of": others, "assigns twice to": twice}
    return [f"{what} {_shown(whom)}" for what, whom in told.items() if whom]


def _shown(members: set[str]) -> str:
    first = ", ".join(one_line(member) or '""' for member in sorted(members)[:SHOWN])
    return first if len(members) <= SHOWN else f"{first} and {len(members) - SHOWN} more"
