"""CLIENT-05 requires that a SyncGroup has the generation and member id of the last successful JoinGroup answer."""

from __future__ import annotations

from groupmock_codec.api_keys import SYNC_GROUP

from ..judgement import UNSEEN_JOIN
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class SyncEchoesJoin(Rule):
    code = "CLIENT-05"
    title = "SyncGroup carries the generation and member id of the JoinGroup answer before it"
    what = "After a JoinGroup that succeeded, the member's SyncGroup has that answer's `generation_id` and `member_id`."
    why = "The coordinator refuses a SyncGroup of another generation (22) or id (25): the member loses the round and everybody joins again."
    source = ("clients.md#client-05", "AbstractCoordinator.JoinGroupResponseHandler")
    fix = "Keep generation and member id of the JoinGroup answer together, and build the SyncGroup from that answer alone."
    implies = ()
    kept = """
do stable1(A)
"""
    broken = """
do completing1(A)
A: SyncGroup generation_id=7 assignments=[for($A.member_id, b"")] -> 22
"""

    @asked(SYNC_GROUP)
    def echoes(self, x: Exchange) -> Judgements:
        """Compare the SyncGroup with the last JoinGroup answer that certainly reached the member, or otherwise with the answer before it
        on the connection."""
        member = x.member if x.member is not None and x.member.joined is not None else x.link.last
        if member is None or member.joined is None or member.joined.answer is None:
            yield UNSEEN_JOIN
            return
        answer = member.joined.answer
        told = (answer["member_id"] or member.id, answer["generation_id"])
        sent = (x.asked["member_id"], x.asked["generation_id"])
        if sent == told:
            yield KEPT
            return
        yield Broken(
            f"{member.name} joined generation {told[1]} and sent a SyncGroup for generation {sent[1]}"
            + ("" if sent[0] == told[0] else " under another member id"),
            (*member.joined.rows, x.seq),
            f"a SyncGroup with generation_id {told[1]} and the member id of the JoinGroup answer",
        )
