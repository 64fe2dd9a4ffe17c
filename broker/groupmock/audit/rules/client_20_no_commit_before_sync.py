"""CLIENT-20 requires that a member does not commit between the answers to its JoinGroup and SyncGroup."""

from __future__ import annotations

from groupmock_codec.api_keys import OFFSET_COMMIT, SYNC_GROUP

from ..commit_example import GIVEN, HEADER
from ..judgement import UNREAD
from ..request_contents import epoch_of
from ..rule import WARNING, Broken, Judgements, Rule, answered, asked
from ..subjects import NONE, Exchange


class NoCommitWhileCompleting(Rule):
    code = "CLIENT-20"
    title = "No commit between a JoinGroup answer and its SyncGroup answer"
    severity = WARNING
    what = "A member that was told a new generation sends OffsetCommit in it only after SyncGroup has brought its assignment."
    why = (
        "The coordinator answers REBALANCE_IN_PROGRESS (27) and keeps nothing. A client that takes this for a reason to join again never "
        "comes to rest."
    )
    source = ("clients.md#client-20", "ConsumerCoordinator.sendOffsetCommitRequest")
    fix = "Hold commits back (or fail them retriably) from sending JoinGroup until SyncGroup is answered; commit before JoinGroup instead."
    kept = (
        HEADER
        + """
do completing1(A)
pause 300
"""
        + GIVEN
        + """
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
"""
    )
    broken = (
        HEADER
        + """
do completing1(A)
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 27
"""
        + GIVEN
    )

    @answered(SYNC_GROUP)
    def ended(self, x: Exchange) -> Judgements:
        """Note that the generation is over for the member, because its SyncGroup failed. If it has its assignment, it has sent no commit
        before that."""
        member, generation = x.member, int(x.asked["generation_id"])
        if member is None:
            return
        if not (x.heard and x.error == NONE):
            member.notes[self.code] = generation
        elif member.joined is not None and member.generation == generation and member.notes.get(self.code) != generation:
            yield self.right(x, member.joined)

    @asked(OFFSET_COMMIT)
    def while_completing(self, x: Exchange) -> Judgements:
        """Judge commits in the generation that the member joined last."""
        member = x.member
        if member is None or member.joined is None or epoch_of(x) != member.generation or member.generation < 0:
            return
        if member.synced is not None and member.synced.asked["generation_id"] == member.generation:
            return
        if member.notes.get(self.code) == member.generation:
            return
        member.notes[self.code] = member.generation
        if not self.knew(x, member.joined):
            yield UNREAD
        else:
            yield Broken(
                f"{member.name} joined generation {member.generation} and commits offsets in it before it has its assignment",
                (*member.joined.rows, x.seq),
                "the commit before JoinGroup, or after the answer to SyncGroup",
            )
