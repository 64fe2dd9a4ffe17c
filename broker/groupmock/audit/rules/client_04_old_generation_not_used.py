"""CLIENT-04 requires that a client sends nothing more in a generation after ILLEGAL_GENERATION (22)."""

from __future__ import annotations

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP

from ..judgement import UNREAD
from ..request_contents import epoch_of
from ..rule import Broken, Judgements, Rule, asked, asked_again, refused
from ..subjects import ILLEGAL_GENERATION, Exchange


class LeavesAnOldGeneration(Rule):
    code = "CLIENT-04"
    title = "After ILLEGAL_GENERATION the member joins again and sends nothing in the old generation"
    what = (
        "A member whose Heartbeat or SyncGroup was answered 22 joins again, with its member id or without. It sends no Heartbeat, "
        "SyncGroup or OffsetCommit of the refused generation."
    )
    why = "The group has gone on without it: its partitions have other owners. In the old generation it will only ever be refused."
    source = ("clients.md#client-04", "AbstractCoordinator.HeartbeatResponseHandler")
    fix = "On 22 set the generation to -1, stop what is sent in the old one, and join."
    implies = ()
    kept = """
do stable2(A, B)
A: JoinGroup -> parked
A resets
pause 300
B: JoinGroup -> 0 generation_id=2
A: Heartbeat generation_id=1 -> 22
pause 300
A: JoinGroup -> 0 generation_id=2
"""
    broken = """
do stable2(A, B)
A: JoinGroup -> parked
A resets
pause 300
B: JoinGroup -> 0 generation_id=2
A: Heartbeat generation_id=1 -> 22
pause 300
A: Heartbeat generation_id=1 -> 22
"""

    @refused(HEARTBEAT, SYNC_GROUP)
    def refused(self, x: Exchange) -> Judgements:
        """Note the refused generation if it is the member's own. A refusal of another generation tells the member nothing new."""
        if x.heard and x.error == ILLEGAL_GENERATION and x.member is not None and x.asked["generation_id"] == x.member.generation:
            x.member.notes[self.code] = x
        return iter(())

    @asked_again(HEARTBEAT, SYNC_GROUP, OFFSET_COMMIT)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge a request in a generation that was refused with ILLEGAL_GENERATION (22)."""
        told: Exchange | None = None if x.member is None else x.member.notes.get(self.code)
        if told is None or epoch_of(x) != told.asked["generation_id"]:
            return
        if not self.knew(x, told):
            yield UNREAD
            return
        yield Broken(
            f"{x.who} was told that its generation {epoch_of(x)} is over (ILLEGAL_GENERATION, in answer to {told.name}) and sent a "
            f"{x.name} in it",
            (*told.rows, x.seq),
            "a JoinGroup",
        )

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Note that the member begins anew."""
        told: Exchange | None = None if x.speaker is None else x.speaker.notes.pop(self.code, None)
        if told is not None:
            yield self.right(x, told)
