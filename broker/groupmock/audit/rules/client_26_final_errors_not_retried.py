"""CLIENT-26 requires that a JoinGroup is not repeated at once after an error that will not change: INCONSISTENT_GROUP_PROTOCOL (23),
INVALID_GROUP_ID (24), INVALID_SESSION_TIMEOUT (26), GROUP_AUTHORIZATION_FAILED (30) or GROUP_MAX_SIZE_REACHED (81)."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec.api_keys import JOIN_GROUP

from ..pace import again, note_refusal
from ..rule import Judgements, Rule, answered_again, asked_again
from ..subjects import (
    GROUP_AUTHORIZATION_FAILED,
    GROUP_MAX_SIZE_REACHED,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_GROUP_ID,
    INVALID_SESSION_TIMEOUT,
    Exchange,
)

FATAL: Final = frozenset(
    {INCONSISTENT_GROUP_PROTOCOL, INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, GROUP_AUTHORIZATION_FAILED, GROUP_MAX_SIZE_REACHED}
)


class FatalErrorsEndTheLoop(Rule):
    code = "CLIENT-26"
    title = "A JoinGroup refused for good is not repeated at once"
    what = (
        "JoinGroup answered INCONSISTENT_GROUP_PROTOCOL, INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, GROUP_AUTHORIZATION_FAILED or "
        "GROUP_MAX_SIZE_REACHED is not sent again as it was, over and over without a pause."
    )
    why = "The same request gets the same answer until somebody changes a configuration; the loop costs client and coordinator a core each."
    source = ("clients.md#client-26", "AbstractCoordinator.JoinGroupResponseHandler")
    fix = "Hand the error to the application; if it polls again, wait for a backoff before the next JoinGroup."
    implies = ("CLIENT-31", "CLIENT-48")
    kept = """
do stable1(A)
B: JoinGroup protocols=[p(other)] -> 23
pause 300
B: JoinGroup protocols=[p(other)] -> 23
"""
    broken = """
do stable1(A)
B: JoinGroup protocols=[p(other)] -> 23
B: JoinGroup protocols=[p(other)] -> 23
B: JoinGroup protocols=[p(other)] -> 23
B: JoinGroup protocols=[p(other)] -> 23
"""
    also_broken: ClassVar[dict[str, str]] = {
        "every-25-ms": """
repeat 11
A: JoinGroup group_id="" -> 24
pause 25
end
""",
    }

    @answered_again(JOIN_GROUP)
    def refused(self, x: Exchange) -> Judgements:
        note_refusal(x, self.code, FATAL)
        return iter(())

    @asked_again(JOIN_GROUP)
    def again(self, x: Exchange) -> Judgements:
        yield from again(x.link.notes.get(self.code, {}), x)
