"""CLIENT-36 requires that a cooperative member claims only subscribed partitions of its last assignment."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ...rounds.embedded import Partitions
from ..cooperative_example import ALONE, GIVEN_UP, HEADER, JOINED, ONE_TAKEN
from ..inside import cooperative_of, named, one_process
from ..judgement import TWO_CONNECTIONS, UNREAD, UNREADABLE, UNSEEN_JOIN
from ..rule import KEPT, Broken, Judgements, NotJudged, Rule, asked
from ..subjects import Exchange, Member


class ClaimsWhatItHas(Rule):
    code = "CLIENT-36"
    title = "A cooperative member claims only partitions of its last assignment"
    what = (
        "The owned partitions in the Subscription of a cooperative member were all in the last assignment that it received, of topics it "
        "lists."
    )
    why = (
        "The leader believes it: a partition that is claimed is given to nobody else. One claim too many keeps the partition from its "
        "owner, or "
        "makes the leader take it from both."
    )
    source = ("clients.md#client-36", "KIP-429", "ConsumerCoordinator.onJoinPrepare")
    fix = (
        "Write owned partitions from what the consumer holds at that moment; forget them when they are revoked or lost, or their topic is "
        "dropped."
    )
    kept = HEADER + ALONE + JOINED + ONE_TAKEN + GIVEN_UP
    broken = (
        HEADER
        + ALONE
        + """
do enter(B)
A: Heartbeat -> 27
pause 300
A: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 1, held("$t1", 0, 1, 2)))] -> 0 generation_id=2
"""
    )

    @asked(JOIN_GROUP)
    def claims(self, x: Exchange) -> Judgements:
        """Compare the claimed partitions with the last assignment if it certainly reached the member, otherwise also with the one
        before."""
        member = x.member
        found = cooperative_of(x, "" if member is None else member.protocol)
        if member is None or found is None or not found.owned:
            return
        held = self._held(x, member)
        if isinstance(held, NotJudged):
            yield held
            return
        strange = found.owned - held
        unlisted = {each for each in found.owned - strange if each[0] not in found.topics}
        if not strange and not unlisted:
            # A member that may not have read its last assignment may claim the one before, so a wrong claim of that kind is not seen.
            yield KEPT if member.synced is None else self.right(x, member.synced)
            return
        what = (
            f"{named(strange)}, which its last assignment does not give it"
            if strange
            else f"{named(unlisted)} of topics that it does not list"
        )
        yield Broken(
            f"{member.name} joins and claims that it owns {what}",
            (*(member.synced.rows if member.synced is not None else ()), x.seq),
            "only partitions of the last assignment, of topics that the Subscription lists",
        )

    def _held(self, x: Exchange, member: Member) -> Partitions | NotJudged:
        """Return the partitions that the member held, or the reason why they are unknown."""
        if member.synced is None:
            return frozenset() if member.born else UNSEEN_JOIN
        if member.told is None:
            return UNREADABLE
        if not one_process(x, member.synced):
            return TWO_CONNECTIONS
        if self.knew(x, member.synced):
            return member.told
        return member.told | member.had if member.had is not None else member.told if member.born else UNREAD
