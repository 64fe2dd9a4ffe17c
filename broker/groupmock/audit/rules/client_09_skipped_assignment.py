"""CLIENT-09 requires that a leader heeds `skip_assignment` in its JoinGroup answer and sends no assignments."""

from __future__ import annotations

from groupmock_codec.api_keys import SYNC_GROUP

from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class SkippedAssignment(Rule):
    code = "CLIENT-09"
    title = "A leader that is told skip_assignment sends no assignments"
    what = "After a JoinGroup answer (version 9) with `skip_assignment` the leader's SyncGroup has an empty list of assignments."
    why = (
        "A static leader that comes back within its session gets its old place in a group that goes on: the assignment of the generation "
        "stands, and the others will not ask for another. One that assigns anew acts on what nobody else was told."
    )
    source = ("clients.md#client-09", "KIP-814")
    fix = "Look at `skip_assignment` before you assign, and send SyncGroup with an empty list if it is true."
    kept = """
member A: group_instance_id=a
member N: group_instance_id=a
member B: group_instance_id=b
do static_stable2(A, B)
A drops
N: JoinGroup member_id="" -> 0 skip_assignment=true eventually
N: SyncGroup -> 0
"""
    broken = """
member A: group_instance_id=a
member N: group_instance_id=a
member B: group_instance_id=b
do static_stable2(A, B)
A drops
N: JoinGroup member_id="" -> 0 skip_assignment=true eventually
N: SyncGroup assignments=[for($N.member_id, b"for A"), for($B.member_id, b"for B")] -> 0
"""

    @asked(SYNC_GROUP)
    def skips(self, x: Exchange) -> Judgements:
        """Judge a leader whose JoinGroup answer for this generation has `skip_assignment`."""
        member = x.member
        if member is None or not member.leads or member.generation != x.asked["generation_id"]:
            return
        assert member.joined is not None and member.joined.answer is not None
        if not member.joined.answer.get("skip_assignment"):
            return
        if not x.asked["assignments"]:
            yield KEPT
            return
        yield Broken(
            f"{member.name} was told to skip the assignment of generation {member.generation}, and its SyncGroup assigns to "
            f"{len(x.asked['assignments'])} members",
            (*member.joined.rows, x.seq),
            "a SyncGroup without assignments: those of the generation stand",
        )
