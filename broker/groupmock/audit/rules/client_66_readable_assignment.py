"""CLIENT-66 requires that each assignment that a consumer leader sends is a readable Assignment."""

from __future__ import annotations

from groupmock_codec.api_keys import SYNC_GROUP

from ...text.printable import one_line
from ..inside import CONSUMER, given_by, plan_of
from ..judgement import UNREADABLE
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class AssignmentsDecode(Rule):
    code = "CLIENT-66"
    title = "Assignments of a consumer group can be read to the last byte"
    what = (
        "For protocol type `consumer` every assignment that the leader brings is an Assignment of version 0 to 3 with nothing behind it. "
        "Above version 3 readers ignore what follows; protocols of Designs I to III that carry the document's own bytes are read as those."
    )
    why = "The coordinator passes the bytes on unread. A member that cannot read its own raises or holds nothing; the leader never learns."
    source = ("clients.md#client-66", "embedded-protocols.md#consumer-assignment", "ConsumerProtocol.deserializeAssignment")
    fix = "Write version, assigned partitions and user data (length -1 for none) for every member; for one that gets nothing an empty list."
    kept = """
do stable2(A, B)
"""
    broken = """
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, join(told(held("t", 0)), i16(7)))] -> 0
"""

    @asked(SYNC_GROUP)
    def decodes(self, x: Exchange) -> Judgements:
        """Judge the whole message at once, because a leader makes the same mistake for every member."""
        plan = plan_of(x)
        if plan is None or plan.protocol_type != CONSUMER or not x.asked["assignments"]:
            return
        given = given_by(plan, x)
        wrong = [(member, told.wrong) for member, told in given if told is not None and told.wrong is not None]
        if not wrong:
            yield UNREADABLE if any(told is None for _, told in given) else KEPT
            return
        assert x.member is not None
        member, why = wrong[0]
        others = "" if len(wrong) == 1 else f", and those of {len(wrong) - 1} other members"
        yield Broken(
            f"{x.member.name}, which leads generation {plan.generation}, brings an assignment for {one_line(member)} that nobody can read "
            f"({why}){others}",
            (plan.row, x.seq),
            "an Assignment of version 0 to 3 for every member: version, partitions, user data, and nothing behind them",
        )
