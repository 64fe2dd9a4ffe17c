"""CLIENT-03 requires that a client gives up its member id after UNKNOWN_MEMBER_ID (25): its next JoinGroup has none."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import UNKNOWN_MEMBER_ID, Exchange


class ForgetsAnUnknownId(Rule):
    code = "CLIENT-03"
    title = "After UNKNOWN_MEMBER_ID the next JoinGroup carries no member id"
    what = "A member that any request was answered 25 joins again with an empty member id."
    why = "The coordinator has given the member up and will never know the id again: each JoinGroup with it is refused, for ever."
    source = ("clients.md#client-03", "AbstractCoordinator.resetStateOnResponseError")
    fix = 'On 25, in whichever answer, set the member id to "" and the generation to -1 before joining again.'
    implies = ()
    kept = """
member *: session_timeout_ms=1000
do stable1(A)
pause 1500
A: Heartbeat -> 25
A: JoinGroup member_id="" -> 79
"""
    broken = """
member *: session_timeout_ms=1000
do stable1(A)
pause 1500
A: Heartbeat -> 25
pause 300
A: JoinGroup -> 25
"""

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Judge whether the next JoinGroup still has a member id."""
        last = x.link.last
        if last is None or last.ended is None or UNKNOWN_MEMBER_ID not in last.ended.errors or last.group.name != x.asked["group_id"]:
            return
        if not x.asked["member_id"]:
            yield KEPT
        elif x.asked["member_id"] == last.id and self.knew(x, last.ended):
            yield Broken(
                f"{last.name} was told that the coordinator does not know its member id (UNKNOWN_MEMBER_ID, in answer to "
                f"{last.ended.name}) and joined with that id again",
                (*last.ended.rows, x.seq),
                "a JoinGroup without a member id",
            )
