"""CLIENT-97 requires that the requests of a share session count its epochs."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import SHARE_ACKNOWLEDGE, SHARE_FETCH

from ..judgement import UNREAD
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..share_example import HEADER, JOINED, OPENED, SESSION, WHO, accepts
from ..share_sessions import BEGIN_ANEW, FINAL, OPENING, session_of
from ..subjects import Exchange


class CountsTheEpochsOfItsSession(Rule):
    code = "CLIENT-97"
    title = "The requests of a share session count its epochs"
    what = (
        "A ShareFetch or ShareAcknowledge has a `share_session_epoch` that is higher by one than that of the last request of its session "
        "that was answered without an error (1 comes after 2147483647). A client opens a session with 0 and ends it with -1. After "
        "SHARE_SESSION_NOT_FOUND (122) or INVALID_SHARE_SESSION_EPOCH (123) it opens a new one."
    )
    why = (
        "The broker refuses a request with another epoch (123), and with it the acknowledgements in it: their records are delivered again, "
        "although they were processed."
    )
    source = ("clients.md#client-97", "share-groups.md#sg-150", "KIP-932", "ShareSessionHandler")
    fix = (
        "Count the epoch up with each answer without a top-level error, whatever the errors of its partitions, and begin with 0 after 122 "
        "and 123."
    )
    kept = f"""{SESSION}
{accepts(0, 2, 2)}
A: ShareFetch v1 {WHO} share_session_epoch=3 -> 0
"""
    broken = f"""{HEADER}{JOINED}{OPENED}
A: ShareFetch v1 {WHO} share_session_epoch=7 -> 123
"""
    also_kept: ClassVar[dict[str, str]] = {
        "anew": f"""{SESSION}
A: ShareFetch v1 {WHO} share_session_epoch=0 topics=[{{name: $t1, partitions: [{{partition_index: 0}}]}}] -> 0
pause 300
A: ShareFetch v1 {WHO} share_session_epoch=1 -> 0
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "stays": f"""{SESSION}
{accepts(0, 0, 2)}
{accepts(1, 2, 2, "123")}
""",
    }

    @asked(SHARE_FETCH, SHARE_ACKNOWLEDGE)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge the session epoch of a request. A request by another connection may have counted the session's epoch."""
        session, epoch = session_of(x), int(x.asked["share_session_epoch"])
        if session is None or session.told is None or session.epoch is None or epoch in (OPENING, FINAL):
            return
        if not self.knew(x, session.told):
            yield UNREAD
        elif epoch == session.epoch:
            yield KEPT
        else:
            told, error = session.told, session.told.error
            last = f"was answered {BEGIN_ANEW[error]}" if error else f"sent epoch {told.asked['share_session_epoch']} before"
            yield Broken(
                f"{x.who} sent a {x.name} of share session epoch {epoch}, and {last}",
                (*told.rows, x.seq),
                f"share_session_epoch {session.epoch}",
            )
