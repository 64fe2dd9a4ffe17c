"""CLIENT-21: a commit is a member's or nobody's, not half of each."""

from __future__ import annotations

from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import OFFSET_COMMIT, Exchange, epoch_of


class CommitsAsMemberOrAsNobody(Rule):
    """An OffsetCommit names generation and member id, or neither; and no member commits as if it were none."""

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
        """Version 0 has neither."""
        if x.version == 0:
            return
        epoch, member_id = epoch_of(x), str(x.asked["member_id"])
        if (epoch < 0) != (not member_id):
            had = f"generation {epoch} and no member id" if not member_id else f"a member id and generation {epoch}"
            yield Broken(f"{x.who} commits offsets with {had}", (x.seq,), 'generation and member id of one JoinGroup answer, or -1 and ""')
            return
        member = x.link.last
        joined = None if member is None or member.group is not x.group or member.gone else member.joined
        if not member_id and joined is not None:
            assert member is not None
            if self.knew(x, joined):
                yield Broken(
                    f"{member.name} is a member of generation {member.generation} and commits offsets on the same connection as if it were "
                    f"none",
                    (*joined.rows, x.seq),
                    f"an OffsetCommit with generation {member.generation} and its member id",
                )
        else:
            yield KEPT
