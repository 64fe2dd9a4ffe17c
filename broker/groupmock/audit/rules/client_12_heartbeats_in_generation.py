"""CLIENT-12 requires that heartbeats begin after JoinGroup, carry its generation, and stop after LeaveGroup."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import HEARTBEAT

from ..judgement import TWO_CONNECTIONS, UNREAD, UNSEEN_JOIN
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import MEMBER_ID_REQUIRED, Exchange, Member


class HeartbeatsOfItsGeneration(Rule):
    code = "CLIENT-12"
    title = "Heartbeats begin after a successful JoinGroup, carry its generation and stop after LeaveGroup"
    what = "A member sends its first heartbeat after a JoinGroup succeeded, each with that answer's generation, and none after LeaveGroup."
    why = (
        "A heartbeat of another generation is refused (22) and keeps nobody alive; one after LeaveGroup is refused (25), and a client that "
        "takes this for its own will join a group that it has just left."
    )
    source = ("clients.md#client-12", "AbstractCoordinator.HeartbeatThread")
    fix = "Start the timer of heartbeats when JoinGroup's answer is there, read the generation when one is sent, stop it before LeaveGroup."
    implies = ("CLIENT-02",)
    kept = """
do stable1(A)
pause 300
A: Heartbeat -> 0
A: LeaveGroup -> 0
"""
    broken = """
do stable1(A)
A: Heartbeat -> 0
A: LeaveGroup members=[who($A.member_id)] -> 0
pause 300
A: Heartbeat -> 25
"""
    also_broken: ClassVar[dict[str, str]] = {
        "before-it-joined": """
A: JoinGroup -> 79
pause 1
A: Heartbeat generation_id=-1 -> 25
""",
    }

    @asked(HEARTBEAT)
    def beats(self, x: Exchange) -> Judgements:
        """Judge a heartbeat of a client that has no membership to keep alive."""
        member, last, generation = x.member, x.link.last, x.asked["generation_id"]
        if member is None:
            return
        if last is not None and last.leaving is not None and (last.id, last.group.name) == (member.id, member.group.name):
            if self.knew(x, last.leaving):
                yield Broken(f"{last.name} left its group and sent a heartbeat after that", (*last.leaving.rows, x.seq), "no heartbeat")
            else:
                yield UNREAD
        elif member.joined is None:
            yield from self._early(x, member)
        elif member.joined.link is not x.link and not member.joined.link.gone:
            yield TWO_CONNECTIONS
        elif not self.knew(x, member.joined):
            yield UNREAD
        elif generation == member.generation:
            yield KEPT
        else:
            yield Broken(
                f"{member.name} joined generation {member.generation} and sent a heartbeat of generation {generation}",
                (*member.joined.rows, x.seq),
                f"a heartbeat of generation {member.generation}",
            )

    def _early(self, x: Exchange, member: Member) -> Judgements:
        """Judge a heartbeat before the first JoinGroup, but only of a member whose id is known to be new, because another may have
        joined before the journal began. A heartbeat with the new id shows that the client has read the answer that told it."""
        wish = member.wish
        reserved = wish is not None and wish.error == MEMBER_ID_REQUIRED
        if wish is not None and (reserved or (member.joining is not None and x.asked["generation_id"] < 0)):
            yield Broken(
                f"{member.name} sent a heartbeat before any JoinGroup of its own had succeeded",
                (*wish.rows, x.seq),
                "JoinGroup first, heartbeats when it has succeeded",
            )
        else:
            yield UNSEEN_JOIN
