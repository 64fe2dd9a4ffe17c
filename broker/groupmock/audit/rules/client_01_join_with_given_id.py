"""CLIENT-01 requires that a client joins with the member id that it was given by MEMBER_ID_REQUIRED (79)."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ..judgement import UNREAD
from ..rule import Broken, Judgements, Rule, answered, asked
from ..subjects import MEMBER_ID_REQUIRED, Exchange


class JoinsWithTheIdItWasGiven(Rule):
    code = "CLIENT-01"
    title = "After MEMBER_ID_REQUIRED the next JoinGroup carries the member id of that answer"
    what = "A JoinGroup without a member id is answered 79 with an id in it. The next JoinGroup for this group carries exactly that id."
    why = (
        "The coordinator keeps a place for the id until the session timeout. A client that asks for another one each time never gets in "
        "and fills the group with ids that nobody uses, the very thing that KIP-394 is against."
    )
    source = ("clients.md#client-01", "KIP-394", "AbstractCoordinator.JoinGroupResponseHandler")
    fix = "Take `member_id` out of the answer whatever its error code says, store it, and send JoinGroup again with it."
    implies = ()
    kept = """
A: JoinGroup -> 79
pause 1
A: JoinGroup -> sent
A -> 0 generation_id=1 eventually
"""
    broken = """
A: JoinGroup -> 79
pause 300
A: JoinGroup member_id="" -> 79
"""

    @answered(JOIN_GROUP)
    def given(self, x: Exchange) -> Judgements:
        """Note the member id with which the connection must join."""
        if x.heard and x.error == MEMBER_ID_REQUIRED:
            x.link.notes[self.code] = x
        return iter(())

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Judge the member id of the next JoinGroup."""
        told: Exchange | None = x.link.notes.get(self.code)
        if told is None or told.answer is None or told.asked["group_id"] != x.asked["group_id"]:
            return
        sent, given = x.asked["member_id"], told.answer["member_id"]
        if sent == given:
            del x.link.notes[self.code]
            yield self.right(x, told)
        elif self.knew(x, told):
            del x.link.notes[self.code]
            yield Broken(
                f"{x.who} was given a member id (MEMBER_ID_REQUIRED) and joined again "
                + ("under another one" if sent else "without any, as if it had not been told"),
                (*told.rows, x.seq),
                "a JoinGroup with the member id of the answer",
            )
        else:
            yield UNREAD
