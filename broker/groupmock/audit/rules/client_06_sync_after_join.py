"""CLIENT-06 requires that a member sends a SyncGroup after every successful JoinGroup."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ..judgement import SILENT, TROUBLED, UNREAD
from ..order import GRACE_NS
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked, refused
from ..subjects import NONE, UNKNOWN_MEMBER_ID, Exchange, Member


class SyncsAfterItJoined(Rule):
    code = "CLIENT-06"
    title = "A JoinGroup that succeeded is followed by a SyncGroup within the rebalance timeout"
    what = (
        "A member whose JoinGroup succeeded sends SyncGroup, at once if it is a follower, when it has assigned if it leads. Not another "
        "JoinGroup, and not later than its rebalance timeout after the answer, or than its session timeout if it follows; unless it "
        "leaves or loses its connection."
    )
    why = "The whole group waits: a leader that does not sync holds up everybody, and one that joins again makes everybody join again."
    source = ("clients.md#client-06", "AbstractCoordinator.JoinGroupResponseHandler")
    fix = "Send SyncGroup from the handler of JoinGroup's answer, whatever the application is doing; rejoin after that if need be."
    implies = ()
    kept = """
do stable2(A, B)
"""
    broken = """
member *: session_timeout_ms=1000 rebalance_timeout_ms=1000
do completing1(A)
pause 700
A: Heartbeat -> 0
pause 700
A: Heartbeat -> any
"""

    also_broken: ClassVar[dict[str, str]] = {
        "until-it-is-removed": """
member *: session_timeout_ms=1000 rebalance_timeout_ms=1000
do completing1(A)
repeat 8
pause 150
A: Heartbeat -> any
end
""",
        "a-follower": """
member *: session_timeout_ms=1200 rebalance_timeout_ms=10000
do completing2(A, B)
A: SyncGroup assignments=[for($A.member_id, b"for A"), for($B.member_id, b"for B")] -> 0
repeat 5
A: Heartbeat -> 0
B: Heartbeat -> 0
pause 400
end
""",
    }

    @answered(JOIN_GROUP)
    def joined(self, x: Exchange) -> Judgements:
        """Expect a SyncGroup from now on. The member is known when the world has taken the answer in."""
        if x.heard and x.error == NONE and x.answered is not None:
            self.later(x.answered, x.link, lambda: self._begin(x))
        return iter(())

    def _begin(self, x: Exchange) -> Judgements:
        member = x.member
        if member is not None and x.answered is not None and member.joined is x:
            self.later(x.answered + _patience(member), member, lambda: self._late(x, member))
        return iter(())

    @refused(HEARTBEAT, OFFSET_COMMIT)
    def removed(self, x: Exchange) -> Judgements:
        """Judge a member that the coordinator has removed, as it does at the end of the rebalance timeout. By the clock of a recording
        that may be a little sooner."""
        member = x.member
        joined = None if member is None else member.joined
        if member is None or joined is None or joined.answered is None or x.answered is None or UNKNOWN_MEMBER_ID not in x.errors:
            return
        if x.answered - joined.answered >= member.rebalance_ns - GRACE_NS:
            yield from self._late(joined, member)

    @asked(SYNC_GROUP)
    def syncs(self, x: Exchange) -> Judgements:
        """Note that the expected SyncGroup has come."""
        member = x.member
        if member is not None and member.joined is not None and member.notes.get(self.code) is not member.joined:
            yield KEPT if self._due(member, member.joined) else TROUBLED
            member.notes[self.code] = member.joined

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Judge a JoinGroup that comes in place of the SyncGroup, if nothing that excuses it has happened since the last JoinGroup
        answer."""
        member = x.speaker
        if member is None or member.joined is None or not self._due(member, member.joined) or member.link is not x.link:
            return
        # A leader asks for Metadata before it assigns. If the answer shows other partitions, the leader may join again.
        news = member.leads and member.joined.answered is not None and x.link.informed >= member.joined.answered
        if news:
            return
        if self.knew(x, member.joined) and x.link.order.crossed is not member.joined:
            yield Broken(
                f"{member.name} joined generation {member.generation} and, without a SyncGroup, joined again",
                (*member.joined.rows, x.seq),
                f"a SyncGroup of generation {member.generation}",
            )
        else:
            yield UNREAD

    def _late(self, x: Exchange, member: Member) -> Judgements:
        """Judge a missing SyncGroup, but only if the process has sent other requests meanwhile, because a silent process may have been
        stopped."""
        if member.joined is not x or x.answered is None or not self._due(member, x):
            return
        if self.world.processes.spoke(member) > x.answered + _patience(member) // 2:
            member.notes[self.code] = x
            ms = (self.world.now - x.answered) // NS_PER_MS
            timeout = "rebalance timeout" if _patience(member) == member.rebalance_ns else "session timeout, as a follower"
            yield Broken(
                f"{member.name} joined generation {member.generation} and has sent no SyncGroup for {ms} ms, its {timeout}, though it sent "
                "other requests",
                x.rows,
                f"a SyncGroup of generation {member.generation} as soon as JoinGroup is answered",
            )
        else:
            yield SILENT

    def _due(self, member: Member, joined: Exchange) -> bool:
        """Return whether nothing excuses that the SyncGroup is missing: no lost connection, no error (a leader cannot assign without
        Metadata), no LeaveGroup."""
        heard, link = member.heard, member.link
        if heard is None or not heard.delivered or heard.errors or joined.answered is None or link.troubled >= joined.answered:
            return False
        return member.notes.get(self.code) is not joined and not (link.gone or member.gone or member.leaving or member.joining)


def _patience(member: Member) -> int:
    """Return how long (ns) a SyncGroup may take. A follower has nothing to do before it, a leader must assign."""
    return member.rebalance_ns if member.leads else min(member.session_ns, member.rebalance_ns)
