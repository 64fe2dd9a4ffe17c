"""CLIENT-41 requires that the `generation_id` in a Subscription is -1 or a generation of the member."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP, SYNC_GROUP

from ..cooperative_example import ALONE, GIVEN_UP, HEADER, JOINED, ONE_TAKEN
from ..inside import one_process, subscriptions_of
from ..judgement import TWO_CONNECTIONS, UNSEEN_JOIN
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Member


class GenerationOfItsOwn(Rule):
    code = "CLIENT-41"
    title = "The generation in a Subscription is the member's own last one"
    what = (
        "From Subscription version 2 on `generation_id` is -1 (it never joined, or has lost its generation) or the generation of the "
        "member's "
        "last JoinGroup or SyncGroup that succeeded; never a later one."
    )
    why = (
        "Sticky leaders believe the claims of the newest generation alone: a number too high takes partitions from others, one too low "
        "one's own."
    )
    source = ("clients.md#client-41", "KIP-792", "ConsumerCoordinator.metadata")
    fix = "Write the generation of the assignment that the owned partitions are of, and -1 once it is reset."
    kept = HEADER + ALONE + JOINED + ONE_TAKEN + GIVEN_UP
    broken = (
        HEADER
        + ALONE
        + """
do enter(B)
A: Heartbeat -> 27
pause 300
A: JoinGroup protocols=[p("cooperative-sticky", subscribed(3, ["$t1"], 7, held("$t1", 0, 1)))] -> 0 generation_id=2
"""
    )

    @answered(JOIN_GROUP, SYNC_GROUP)
    def hears(self, x: Exchange) -> Judgements:
        """Note the generations that the member may name: that of its last assignment, and that of its JoinGroup answer before the last."""
        member = x.member
        if member is not None and x.heard and not x.error and x.answer is not None:
            notes = member.note(self.code, dict[int, int])
            notes[x.key] = int(x.asked["generation_id"]) if x.key == SYNC_GROUP else member.generation
        yield from ()

    @asked(JOIN_GROUP)
    def says(self, x: Exchange) -> Judgements:
        """Judge every listed protocol that can carry a generation. The generation of an earlier id is allowed if nothing is owned,
        because librdkafka sends it after UNKNOWN_MEMBER_ID (25)."""
        member = x.member
        read = [each for each in subscriptions_of(x).values() if each is not None and each.version >= 2 and each.wrong is None]
        found, owning = {each.generation for each in read}, any(each.owned for each in read)
        if not found or member is None or (member.joined is None and (not member.born or not owning)):
            return
        if member.joined is not None and not one_process(x, member.joined):
            yield TWO_CONNECTIONS
            return
        wrong = found - self._had(x, member)
        # The member reports no partitions, or it joined before the journal began, so a lower generation may be true.
        if not owning or (not member.born and member.synced is None):
            wrong = {each for each in wrong if each > member.generation}
        if not wrong:
            if found <= {-1}:
                return
            if owning and member.joined is not None:
                # An older generation would be wrong here, but it is not seen if the client may still have been in it.
                known = member.born or member.synced is not None
                yield self.right(x, member.joined) if known else UNSEEN_JOIN
            else:
                yield KEPT
            return
        had = f"its last generation is {member.generation}" if member.joined is not None else "it has had none"
        yield Broken(
            f"{member.name} joins with a Subscription of generation {max(wrong)}, and {had}",
            (*(() if member.joined is None else member.joined.rows), x.seq),
            f"generation_id {member.generation} or -1" if member.joined is not None else "generation_id -1",
        )

    def _had(self, x: Exchange, member: Member) -> set[int]:
        notes: dict[int, int] = member.notes.get(self.code, {})
        had = {-1, member.generation, notes.get(SYNC_GROUP, -1)}
        if member.joined is not None and not self.knew(x, member.joined):
            had.add(notes.get(JOIN_GROUP, -1))
        return had
