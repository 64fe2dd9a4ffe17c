"""CLIENT-22 requires that a commit refused with ILLEGAL_GENERATION (22) or UNKNOWN_MEMBER_ID (25) is not repeated with the same
generation and member id."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import OFFSET_COMMIT, TXN_OFFSET_COMMIT

from ..commit_example import ALONE, GIVEN
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, Exchange, Subject, committed_of, epoch_of
from ..transaction_example import IN_TRANSACTION, WHO


class RefusedCommitsAreNotRepeated(Rule):
    code = "CLIENT-22"
    title = "A commit refused with ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID is not sent again as it was"
    what = (
        "After OffsetCommit or TxnOffsetCommit was answered 22 or 25, the same offsets are not committed again with the same generation "
        "and member id."
    )
    why = "The answer will not change: the partitions may have another owner by now, who commits for itself. The client has to join again."
    source = ("clients.md#client-22", "ConsumerCoordinator.OffsetCommitResponseHandler")
    fix = "Fail the commit to the application (CommitFailedException) and rejoin; only errors that pass by themselves are tried again."
    implies = ("CLIENT-02", "CLIENT-03", "CLIENT-04", "CLIENT-19")
    kept = (
        ALONE
        + """
A: OffsetCommit generation_id_or_member_epoch=0 topics=[t($t1, o(0, 5))] -> 22
pause 300
A: JoinGroup -> 0 generation_id=2
"""
        + GIVEN
        + """
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
"""
    )
    broken = (
        "member A: session_timeout_ms=1000"
        + ALONE
        + """
pause 1500
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 25
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 25
"""
    )

    also_broken: ClassVar[dict[str, str]] = {
        "in-a-transaction": f"""{ALONE}{IN_TRANSACTION}
T: TxnOffsetCommit v3 {WHO} generation_id=9 member_id=$A.member_id topics=[t($t1, o(0, 5))] -> 22
pause 300
T: TxnOffsetCommit v3 {WHO} generation_id=9 member_id=$A.member_id topics=[t($t1, o(0, 5))] -> 22
""",
    }

    @answered(OFFSET_COMMIT, TXN_OFFSET_COMMIT)
    def refused(self, x: Exchange) -> Judgements:
        """Note the refusal of a commit on its connection, because the member is forgotten after UNKNOWN_MEMBER_ID (25). A commit without
        a generation does not belong to a member (CLIENT-21)."""
        if epoch_of(x) >= 0 and x.heard and x.errors & {ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID}:
            for subject in (x.link, x.member):
                if subject is not None:
                    subject.notes[self.code] = x
        return iter(())

    @asked(OFFSET_COMMIT, TXN_OFFSET_COMMIT)
    def repeated(self, x: Exchange) -> Judgements:
        """Judge a commit that comes after the connection or the member was told of a refusal."""
        subject: Subject | None = next((each for each in (x.link, x.member) if each is not None and self.code in each.notes), None)
        if subject is None or (x.key == TXN_OFFSET_COMMIT and epoch_of(x) < 0):
            return
        before: Exchange = subject.notes[self.code]
        if before.group is not x.group and before.asked["group_id"] != x.asked["group_id"]:
            return
        if (epoch_of(x), x.asked["member_id"]) != (epoch_of(before), before.asked["member_id"]):
            del subject.notes[self.code]
            yield KEPT
        elif self.knew(x, before) and (same := committed_of(x).items() & committed_of(before).items()):
            error = "ILLEGAL_GENERATION" if ILLEGAL_GENERATION in before.errors else "UNKNOWN_MEMBER_ID"
            yield Broken(
                f"{x.who} had a commit in generation {epoch_of(x)} refused with {error} and commits {len(same)} of the same offsets in it "
                f"again",
                (*before.rows, x.seq),
                "JoinGroup, and no commit until the next assignment",
            )
