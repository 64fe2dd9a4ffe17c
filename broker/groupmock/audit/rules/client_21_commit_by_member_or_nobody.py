"""CLIENT-21 requires that a commit has both generation and member id or neither, and that a member does not commit without them."""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import LEAVE_GROUP, OFFSET_COMMIT
from groupmock_codec.units import NS_PER_MS

from ..judgement import UNREAD
from ..request_contents import epoch_of
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange, Member

SOON_NS: Final = 1_000 * NS_PER_MS
"""For this long after a member was told that its group does not know it, a commit on the same connection is taken for the member's."""


class CommitsAsMemberOrAsNobody(Rule):
    code = "CLIENT-21"
    title = "A commit names generation and member id, or neither of them"
    what = (
        'A consumer that assigns its partitions itself commits with `generation_id` -1 and `member_id` "", and sends no JoinGroup or '
        "Heartbeat. A member of a group commits with both."
    )
    why = (
        "With one of the two, or without both while the group has members, the coordinator answers UNKNOWN_MEMBER_ID (25) and keeps "
        "nothing. Where it does not, the offsets of a group are moved by somebody who owns no partition of it."
    )
    source = ("clients.md#client-21", "ConsumerCoordinator.sendOffsetCommitRequest")
    fix = "Take both from the same generation, and send no commit for a group that the client is no member of any more."
    kept = """
topics: t1:1
A: OffsetCommit generation_id_or_member_epoch=-1 member_id="" topics=[t($t1, o(0, 5))] -> 0
A: OffsetCommit generation_id_or_member_epoch=-1 member_id="" topics=[t($t1, o(0, 6))] -> 0
"""
    broken = """
topics: t1:1
do stable1(A)
pause 300
A: OffsetCommit generation_id_or_member_epoch=-1 member_id="" topics=[t($t1, o(0, 5))] -> 25
"""

    @asked(OFFSET_COMMIT)
    def whole(self, x: Exchange) -> Judgements:
        """Judge whether a commit has both fields or neither, from version 1 on, because version 0 has neither."""
        if x.version == 0:
            return
        epoch, member_id = epoch_of(x), str(x.asked["member_id"])
        if (epoch < 0) != (not member_id):
            had = f"generation {epoch} and no member id" if not member_id else f"a member id and generation {epoch}"
            yield Broken(f"{x.who} commits offsets with {had}", (x.seq,), 'generation and member id of one JoinGroup answer, or -1 and ""')
            return
        member = x.link.last
        if member_id or member is None or member.joined is None or member.group.name != x.asked["group_id"] or _left(member):
            yield KEPT
        elif not member.gone and not self.knew(x, member.joined):
            yield UNREAD
        elif not member.gone:
            yield Broken(
                f"{member.name} is a member of generation {member.generation} and commits on the same connection as if it were none",
                (*member.joined.rows, x.seq),
                f"an OffsetCommit with generation {member.generation} and its member id",
            )
        elif member.ended is not None and x.waited_since(member.ended) < SOON_NS:
            yield Broken(
                f"{member.name} was told that the group does not know it any more, and commits offsets on the same connection as if it had "
                "never been a member",
                (*member.ended.rows, x.seq),
                "no OffsetCommit until it has joined again: its partitions may have another owner, whose offsets it would overwrite",
            )


def _left(member: Member) -> bool:
    """Return whether the member left on its own, so that later requests of its process are not those of the member."""
    return member.ended is not None and member.ended.key == LEAVE_GROUP
