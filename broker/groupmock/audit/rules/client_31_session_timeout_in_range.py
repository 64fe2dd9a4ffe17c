"""CLIENT-31 requires a session timeout within the broker's range."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ..known_world import World
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered
from ..subjects import INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED, NONE, Exchange


class SessionTimeoutIsTaken(Rule):
    code = "CLIENT-31"
    title = "The session timeout lies between the broker's bounds"
    severity = WARNING
    what = (
        "`session_timeout_ms` lies between `group.min.session.timeout.ms` (6 s) and `group.max.session.timeout.ms` (30 min) of the "
        "broker. A refusal of a value between others that the same journal shows as taken is the broker's affair, and nobody is blamed."
    )
    why = "JoinGroup is answered INVALID_SESSION_TIMEOUT: the member never gets into the group."
    source = ("clients.md#client-31", "GroupCoordinator.handleJoinGroup")
    fix = "Set session.timeout.ms to a value that the broker takes, or ask its operator for other bounds."
    implies = ()
    kept = """
A: JoinGroup -> 79
"""
    broken = """
A: JoinGroup session_timeout_ms=1 -> 26
"""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._taken: tuple[int, int] | None = None

    @answered(JOIN_GROUP)
    def told(self, x: Exchange) -> Judgements:
        """Judge whether the broker accepted the session timeout."""
        session = int(x.asked["session_timeout_ms"])
        low, high = self._taken or (session, session)
        if x.heard and x.error in (NONE, MEMBER_ID_REQUIRED):
            self._taken = min(low, session), max(high, session)
            yield KEPT
        elif x.heard and x.error == INVALID_SESSION_TIMEOUT and (self._taken is None or not low <= session <= high):
            yield Broken(
                f"{x.who} asked for a session timeout of {session} ms, and the broker does not allow it (INVALID_SESSION_TIMEOUT)",
                x.rows,
                "a session timeout between group.min.session.timeout.ms and group.max.session.timeout.ms of the broker",
            )
