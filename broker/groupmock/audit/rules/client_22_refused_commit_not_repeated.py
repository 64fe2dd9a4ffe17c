"""CLIENT-22 requires that a refused commit is not repeated with the same generation and member id: not at all after ILLEGAL_GENERATION (22)
or UNKNOWN_MEMBER_ID (25), and not over and over after REBALANCE_IN_PROGRESS (27) or FENCED_INSTANCE_ID (82)."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec.api_keys import OFFSET_COMMIT, TXN_OFFSET_COMMIT

from ..commit_example import ALONE, GIVEN, HEADER
from ..pace import ROUNDS, ROUNDS_OF_COMMITS
from ..request_contents import epoch_of
from ..rule import KEPT, Broken, Judgements, Rule, answered_again, asked_again
from ..subjects import FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID, Exchange, Subject, committed_of
from ..transaction_example import IN_TRANSACTION, WHO

FINAL: Final = frozenset((ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID))
"""Errors after which a commit is not repeated even once. After REBALANCE_IN_PROGRESS (27) an application may try again, and a fenced member
may commit once more as it closes."""
ERRORS: Final = {
    ILLEGAL_GENERATION: "ILLEGAL_GENERATION",
    UNKNOWN_MEMBER_ID: "UNKNOWN_MEMBER_ID",
    REBALANCE_IN_PROGRESS: "REBALANCE_IN_PROGRESS",
    FENCED_INSTANCE_ID: "FENCED_INSTANCE_ID",
}


class RefusedCommitsAreNotRepeated(Rule):
    code = "CLIENT-22"
    title = "A commit refused with ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID is not sent again as it was"
    what = (
        "After OffsetCommit or TxnOffsetCommit was answered 22 or 25, the same offsets are not committed again with the same generation "
        f"and member id. After 27 or 82 they are not committed {ROUNDS} times more, and after none of these errors the client goes on with "
        f"{ROUNDS_OF_COMMITS} commits in that generation."
    )
    why = "The answer will not change: the partitions may have another owner by now, who commits for itself. The client has to join again."
    source = ("clients.md#client-22", "ConsumerCoordinator.OffsetCommitResponseHandler")
    fix = "Fail the commit to the application (CommitFailedException) and rejoin; only errors that pass by themselves are tried again."
    implies = ("CLIENT-02", "CLIENT-03", "CLIENT-04", "CLIENT-19", "CLIENT-20")
    kept = (
        "member A: session_timeout_ms=1000"
        + ALONE
        + """
pause 1500
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 25
pause 300
A: JoinGroup member_id="" -> 79
A: JoinGroup -> 0 eventually
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
        "by-a-client-with-several-connections": (
            ALONE
            + """
B: FindCoordinator -> 0
pause 300
repeat 4
A: OffsetCommit generation_id_or_member_epoch=0 topics=[t($t1, o(0, 5))] -> 22
pause 1
end
"""
        ),
        "other-offsets": (
            "member A: session_timeout_ms=1000"
            + ALONE
            + """
pause 1500
let offset = 0
repeat 13
A: OffsetCommit topics=[t($t1, o(0, $offset))] -> 25
let offset = $offset+1
pause 1
end
"""
        ),
        "while-the-group-rebalances": (
            HEADER
            + """
do completing1(A)
repeat 4
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 27
end
"""
            + GIVEN
        ),
        "when-fenced": """
topics: t1:2
member A: group_instance_id=a
member B: group_instance_id=b
do static_stable2(A, B)
N: JoinGroup member_id="" group_instance_id=b -> 0 eventually
repeat 4
B: OffsetCommit topics=[t($t1, o(1, 5))] -> 82
pause 1
end
""",
    }

    @answered_again(OFFSET_COMMIT, TXN_OFFSET_COMMIT)
    def refused(self, x: Exchange) -> Judgements:
        """Note the refusal of a commit on its connection, because the member is forgotten after UNKNOWN_MEMBER_ID (25). A commit without
        a generation does not belong to a member (CLIENT-21)."""
        if epoch_of(x) < 0 or not x.heard:
            return iter(())
        for subject in (x.link, x.member):
            if subject is not None:
                before: _Refused | None = subject.notes.pop(self.code, None)
                if x.errors & ERRORS.keys():
                    refused = before if before is not None and _who(before.last) == _who(x) else _Refused()
                    refused.last = x
                    subject.notes[self.code] = refused
        return iter(())

    @asked_again(OFFSET_COMMIT, TXN_OFFSET_COMMIT)
    def repeated(self, x: Exchange) -> Judgements:
        """Judge a commit that comes after the connection or the member was told of a refusal."""
        subject: Subject | None = next((each for each in (x.link, x.member) if each is not None and self.code in each.notes), None)
        if subject is None or (x.key == TXN_OFFSET_COMMIT and epoch_of(x) < 0):
            return
        refused: _Refused = subject.notes[self.code]
        before = refused.last
        if before.group is not x.group and before.asked["group_id"] != x.asked["group_id"]:
            return
        if _who(x) != _who(before):
            del subject.notes[self.code]
            yield self.right(x, before) if before.errors & FINAL else KEPT
            return
        same = committed_of(x).items() & committed_of(before).items()
        if same and before.errors & FINAL and self.knew(x, before):
            yield self._again(x, before, f"commits {len(same)} of the same offsets in it again")
        elif x.waited_since(before) > 0:
            refused.times += 1
            refused.same = refused.same + 1 if same else 0
            if refused.same == ROUNDS or refused.times == ROUNDS_OF_COMMITS:
                times, refused.times, refused.same = max(refused.same, refused.times), 0, 0
                yield self._again(x, before, f"went on with {times} commits in it, each after the refusal of the one before")

    def _again(self, x: Exchange, before: Exchange, what: str) -> Broken:
        error = " or ".join(name for code, name in ERRORS.items() if code in before.errors)
        return Broken(
            f"{x.who} had a commit in generation {epoch_of(x)} refused with {error} and {what}",
            (*before.rows, x.seq),
            "JoinGroup, and no commit until the next assignment",
        )


class _Refused:
    """The last refused commit of a member, and how many commits it repeated, in a row: with any offsets, and with the same ones."""

    __slots__ = ("last", "same", "times")

    def __init__(self) -> None:
        self.last: Exchange
        self.times = self.same = 0


def _who(x: Exchange) -> tuple[int, str]:
    """Return the generation and the member id of a commit."""
    return epoch_of(x), str(x.asked["member_id"])
