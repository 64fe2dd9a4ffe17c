"""CLIENT-07 requires that only the leader's SyncGroup has assignments."""

from __future__ import annotations

from groupmock_codec.api_keys import SYNC_GROUP

from ..judgement import UNSEEN_JOIN
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class OnlyTheLeaderAssigns(Rule):
    code = "CLIENT-07"
    title = "Only the leader sends assignments"
    what = "A member whose JoinGroup answer names another one as `leader` sends its SyncGroup with an empty list of assignments."
    why = (
        "The coordinator throws a follower's assignments away without a word: a client that sends them believes that it leads, and acts on "
        "an assignment that nobody else has."
    )
    source = ("clients.md#client-07", "AbstractCoordinator.onJoinFollower")
    fix = "Compare `leader` of the JoinGroup answer with your own member id, and assign only if they are equal."
    kept = """
do stable2(A, B)
"""
    broken = """
do completing2(A, B)
A: SyncGroup assignments=[for($A.member_id, b"for A"), for($B.member_id, b"for B")] -> 0
B: SyncGroup assignments=[for($A.member_id, b"for B"), for($B.member_id, b"for A")] -> 0
"""

    @asked(SYNC_GROUP)
    def assigns(self, x: Exchange) -> Judgements:
        """Compare the sender with the leader in the JoinGroup answer of the same generation."""
        member = x.member
        if member is None or member.joined is None:
            yield UNSEEN_JOIN
            return
        if member.generation != x.asked["generation_id"] or member.leads:
            return
        if not x.asked["assignments"]:
            yield KEPT
            return
        yield Broken(
            f"{member.name} follows in generation {member.generation}, and its SyncGroup assigns to {len(x.asked['assignments'])} members",
            (*member.joined.rows, x.seq),
            "a SyncGroup without assignments: only the member that JoinGroup's answer names as `leader` assigns",
        )
