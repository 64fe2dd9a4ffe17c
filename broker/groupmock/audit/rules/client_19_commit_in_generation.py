"""CLIENT-19 requires that a commit does not carry an older generation than the last JoinGroup answer that the member received."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import OFFSET_COMMIT, TXN_OFFSET_COMMIT

from ..commit_example import ALONE, GIVEN
from ..judgement import UNREAD
from ..request_contents import epoch_of
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange, Member
from ..transaction_example import IN_TRANSACTION, WHO


class CommitsInItsGeneration(Rule):
    code = "CLIENT-19"
    title = "A commit carries the generation of the newest JoinGroup answer"
    what = (
        "Once a member has heard a JoinGroup answer, its OffsetCommits and TxnOffsetCommits (v3 and newer) carry that answer's "
        "`generation_id`: no older one, and none that it was never told."
    )
    why = (
        "The coordinator refuses a commit of another generation with ILLEGAL_GENERATION (22): the offsets are lost, and whoever gets the "
        "partitions next reads the records again."
    )
    source = ("clients.md#client-19", "ConsumerCoordinator.sendOffsetCommitRequest")
    fix = (
        "Read generation and member id together when the commit is built, not when it is asked for, and drop them when a new round begins."
    )
    kept = (
        ALONE
        + """
pause 300
A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0
"""
    )
    broken = (
        ALONE
        + """
A: JoinGroup -> 0 generation_id=2 eventually
"""
        + GIVEN
        + """
pause 300
A: OffsetCommit generation_id_or_member_epoch=1 topics=[t($t1, o(0, 5))] -> 22
"""
    )

    also_kept: ClassVar[dict[str, str]] = {
        "in-a-transaction": f"""{ALONE}{IN_TRANSACTION}
pause 300
T: TxnOffsetCommit v3 {WHO} generation_id=1 member_id=$A.member_id topics=[t($t1, o(0, 5))] -> 0
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "in-a-transaction": f"""{ALONE}{IN_TRANSACTION}
A: JoinGroup -> 0 generation_id=2 eventually
{GIVEN}
pause 300
T: TxnOffsetCommit v3 {WHO} generation_id=1 member_id=$A.member_id topics=[t($t1, o(0, 5))] -> 22
""",
    }

    @asked(OFFSET_COMMIT, TXN_OFFSET_COMMIT)
    def in_its_generation(self, x: Exchange) -> Judgements:
        """Judge commits of members that have joined; a commit without a generation does not belong to a member (CLIENT-21)."""
        member, sent = x.member, epoch_of(x)
        if member is None or member.joined is None or sent < 0:
            return
        if not self._surely(x, member, member.joined):
            yield UNREAD
        elif sent == member.generation:
            yield KEPT
        else:
            told = "was told" if sent < member.generation else "knows only"
            yield Broken(
                f"{member.name} {told} generation {member.generation} and commits offsets for generation {sent} "
                f"{x.waited_since(member.joined) // 1_000_000} ms later",
                (*member.joined.rows, x.seq),
                f"a commit with generation {member.generation}, or none while the group rebalances",
            )

    def _surely(self, x: Exchange, member: Member, joined: Exchange) -> bool:
        """Return whether the client knew the new generation. A producer has a connection of its own, where only an earlier SyncGroup shows
        that its process had read the JoinGroup answer."""
        if x.key == OFFSET_COMMIT or x.link is joined.link:
            return self.knew(x, joined)
        sync = member.syncing or member.synced
        return sync is not None and sync.asked["generation_id"] == member.generation and self.sent_later(x, sync)
