"""CLIENT-40 requires that a cooperative leader does not assign a partition that another member still owns."""

from __future__ import annotations

from collections.abc import Mapping

from groupmock_codec.api_keys import SYNC_GROUP

from ...rounds.embedded import EAGER, Partition
from ...text.printable import one_line
from ..cooperative_example import ALONE, GIVEN_UP, HEADER, JOINED, ONE_TAKEN
from ..inside import CONSUMER, Subscribed, claimed_in, given_by, named, plan_of
from ..judgement import UNREADABLE
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class RevokedBeforeGiven(Rule):
    code = "CLIENT-40"
    title = "A cooperative leader gives no partition away while another member owns it"
    what = (
        "A partition that one member claims, in the newest generation that members claim by, is not given to another member in the same "
        "round. "
        "What two members claim, or one of an older generation, the leader decides."
    )
    why = (
        "The owner goes on reading until it hears its own assignment, so for a while two members read the partition, and commit over each "
        "other."
    )
    source = ("clients.md#client-40", "KIP-429", "KIP-792", "ConsumerCoordinator.validateCooperativeAssignment")
    fix = "Take the partition from its owner in one round, and give it away in the next, when nobody claims it any more."
    kept = HEADER + ALONE + JOINED + ONE_TAKEN + GIVEN_UP
    broken = (
        HEADER
        + ALONE
        + JOINED
        + """
A: SyncGroup assignments=[for($A.member_id, told(held("$t1", 0))), for($B.member_id, told(held("$t1", 1)))] -> 0
B -> 0
"""
    )

    @asked(SYNC_GROUP)
    def gives(self, x: Exchange) -> Judgements:
        """Judge a leader whose members claim the partitions that they own."""
        plan, member = plan_of(x), x.member
        # Leaders of `range`, `roundrobin` and `sticky` do not look at what members claim (AbstractPartitionAssignor).
        if plan is None or member is None or plan.skip or plan.protocol_type != CONSUMER or plan.protocol in EAGER:
            return
        claims = claimed_in(plan)
        given = given_by(plan, x)
        read = [each for each in claims.values() if each is not None and each.wrong is None]
        if len(read) < len(claims) or any(told is None or told.wrong is not None for _, told in given):
            yield UNREADABLE
            return
        owners = _owners({each: claim for each, claim in claims.items() if claim is not None})
        taken = {each: whom for whom, told in given if told is not None for each in told.assigned if owners.get(each, whom) != whom}
        if not taken:
            if owners:
                yield KEPT
            return
        first = min(taken)
        yield Broken(
            f"{member.name}, which leads generation {plan.generation}, gives {named(taken)} away while it is owned: "
            f"{one_line(first[0])}/{first[1]} is {one_line(owners[first])}'s and goes to {one_line(taken[first])}",
            (plan.row, x.seq),
            "the partition given to nobody in this round, so that its owner gives it up, and to another member in the next",
        )


def _owners(claims: Mapping[str, Subscribed]) -> dict[Partition, str]:
    """Return for each partition the only member that claims it, among the claims of the newest generation (AbstractStickyAssignor). A
    member that dropped the topic owns nothing of it."""
    newest = max((claim.generation for claim in claims.values()), default=-1)
    owner: dict[Partition, str] = {}
    twice: set[Partition] = set()
    for member, claim in claims.items():
        for each in claim.owned if claim.generation == newest else ():
            if each[0] in claim.topics and owner.setdefault(each, member) != member:
                twice.add(each)
    return {each: member for each, member in owner.items() if each not in twice}
