"""CLIENT-39 requires that a member claims no partitions after ILLEGAL_GENERATION (22) or UNKNOWN_MEMBER_ID (25)."""

from __future__ import annotations

from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP

from ...text.printable import one_line
from ..cooperative_example import ALONE, HEADER
from ..inside import cooperative_of, named
from ..judgement import UNREAD
from ..request_contents import epoch_of
from ..rule import KEPT, Broken, Judgements, Rule, asked, refused
from ..subjects import ILLEGAL_GENERATION, Exchange


class LostOwnsNothing(Rule):
    code = "CLIENT-39"
    title = "A cooperative member that lost its place claims nothing when it comes again"
    what = (
        "After 22 ILLEGAL_GENERATION or 25 UNKNOWN_MEMBER_ID the next Subscription of a cooperative member owns nothing. So does any "
        "that comes "
        "without a member id: who is no member has no partitions."
    )
    why = (
        "The group went on without it, and its partitions may be somebody else's by now. A leader that sees two claims for one partition "
        "takes "
        "it from both, or gives it to the one that lost it."
    )
    source = ("clients.md#client-39", "KIP-429", "KAFKA-12984", "ConsumerCoordinator.onJoinPrepare")
    implies = ("CLIENT-36",)
    fix = (
        "When the generation is reset, drop all partitions (`onPartitionsLost`) and clear what the assignor remembers, before the "
        "JoinGroup is written."
    )
    kept = (
        HEADER
        + ALONE
        + """
L: LeaveGroup members=[who($A.member_id)] -> 0
A: Heartbeat -> 25
pause 300
A: JoinGroup member_id="" -> 79
"""
    )
    broken = (
        HEADER
        + ALONE
        + """
L: LeaveGroup members=[who($A.member_id)] -> 0
A: Heartbeat -> 25
pause 300
A: JoinGroup member_id="" protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], -1, held("$t1", 0, 1)))] -> 79
"""
    )

    @refused(HEARTBEAT, SYNC_GROUP, OFFSET_COMMIT)
    def hears(self, x: Exchange) -> Judgements:
        """Note that ILLEGAL_GENERATION (22) was answered in the member's present generation; for an older one it means nothing."""
        member = x.member
        if member is not None and x.heard and ILLEGAL_GENERATION in x.errors:
            asked_of = epoch_of(x) if x.key == OFFSET_COMMIT else int(x.asked["generation_id"])
            if asked_of == member.generation:
                member.notes.setdefault(self.code, x)
        yield from ()

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        """Judge the claims in a JoinGroup with the member's id after ILLEGAL_GENERATION (22), or without an id after UNKNOWN_MEMBER_ID
        (25) or another loss of the id."""
        found = cooperative_of(x)
        lost: Exchange | None
        if x.asked["member_id"]:
            lost = None if x.member is None else x.member.notes.pop(self.code, None)
            if lost is None:
                return
            if not self.knew(x, lost):
                yield UNREAD
                return
        else:
            last = x.link.last
            lost = None if last is None else last.ended
        if found is not None and found.owned:
            who = x.member.name if x.member is not None else one_line(x.client_id or "a client")
            why = "lost its place in the group" if lost is not None else "joins without a member id"
            yield Broken(
                f"{who} {why} and claims that it owns {named(found.owned)}",
                (*(() if lost is None else lost.rows), x.seq),
                "a Subscription that owns nothing: partitions of a lost generation are lost",
            )
        elif found is not None and lost is not None:
            yield KEPT
