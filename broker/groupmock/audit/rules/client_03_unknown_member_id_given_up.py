"""CLIENT-03 requires that a client gives up its member id after UNKNOWN_MEMBER_ID (25): its next JoinGroup has none, and no heartbeats
follow."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP

from ..judgement import UNREAD
from ..rule import Broken, Judgements, Rule, answered_again, asked, asked_again
from ..subjects import UNKNOWN_MEMBER_ID, Exchange

TIMES: Final = 3
"""So many heartbeats after a refusal are not those of a timer that was due just then."""


class ForgetsAnUnknownId(Rule):
    code = "CLIENT-03"
    title = "After UNKNOWN_MEMBER_ID the next JoinGroup carries no member id"
    what = (
        "A member that any request was answered 25 joins again with an empty member id. Nobody sends heartbeats over and over that are "
        "answered 25: neither a member that has lost its place, nor a client that never joined."
    )
    why = "The coordinator has given the member up and will never know the id again: each JoinGroup with it is refused, for ever."
    source = ("clients.md#client-03", "AbstractCoordinator.resetStateOnResponseError")
    fix = 'On 25, in whichever answer, set the member id to "" and the generation to -1 before joining again.'
    implies = ()
    kept = """
member *: session_timeout_ms=1000
do stable1(A)
pause 1500
A: Heartbeat -> 25
pause 300
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

    also_broken: ClassVar[dict[str, str]] = {
        "heartbeats-go-on": """
member *: session_timeout_ms=1000
do stable1(A)
pause 1500
repeat 4
A: Heartbeat -> 25
pause 1
end
""",
        "heartbeats-of-a-client-that-assigns-itself": """
topics: t1:1
A: OffsetCommit generation_id_or_member_epoch=-1 member_id="" topics=[t($t1, o(0, 5))] -> 0
repeat 4
A: Heartbeat generation_id=-1 member_id="" -> 25
pause 300
end
""",
    }

    @answered_again(HEARTBEAT)
    def refused(self, x: Exchange) -> Judgements:
        """Note heartbeats that are answered UNKNOWN_MEMBER_ID (25) in a row."""
        before: list[Exchange] = x.link.notes.pop(self.code, [])
        if x.heard and x.error == UNKNOWN_MEMBER_ID:
            again = bool(before) and x.asked == before[-1].asked and self.knew(x, before[-1])
            x.link.notes[self.code] = [*before[-TIMES:], x] if again else [x]  # More than TIMES of them were reported already.
        return iter(())

    @asked_again(HEARTBEAT)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge a heartbeat that repeats those."""
        before: list[Exchange] = x.link.notes.get(self.code, [])
        if len(before) == TIMES and x.asked == before[-1].asked and self.knew(x, before[-1]):
            yield Broken(
                f"{x.who} was told that the coordinator does not know its member id (UNKNOWN_MEMBER_ID) and sent the same heartbeat "
                f"{TIMES} times more",
                (*before[0].rows, x.seq),
                "no heartbeat before a JoinGroup has succeeded",
            )

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Judge whether the next JoinGroup still has a member id."""
        last = x.link.last
        if last is None or last.ended is None or UNKNOWN_MEMBER_ID not in last.ended.errors or last.group.name != x.asked["group_id"]:
            return
        if not x.asked["member_id"]:
            yield self.right(x, last.ended)
        elif x.asked["member_id"] != last.id:
            return
        elif not self.knew(x, last.ended):
            yield UNREAD
        else:
            yield Broken(
                f"{last.name} was told that the coordinator does not know its member id (UNKNOWN_MEMBER_ID, in answer to "
                f"{last.ended.name}) and joined with that id again",
                (*last.ended.rows, x.seq),
                "a JoinGroup without a member id",
            )
