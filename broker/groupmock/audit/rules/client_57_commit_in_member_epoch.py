"""CLIENT-57 requires that a consumer commits with OffsetCommit 9 or higher in its member epoch, and not again in an epoch that was
refused as stale."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec import error_codes
from groupmock_codec.api_keys import OFFSET_COMMIT, TXN_OFFSET_COMMIT

from .. import streams_example
from ..consumer_example import HEADER, JOINED
from ..course import Course, course_of, epoch_said
from ..judgement import UNREAD
from ..request_contents import epoch_of
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Member
from ..transaction_example import IN_TRANSACTION, WHO

STALE: Final = error_codes.STALE_MEMBER_EPOCH
WITH_EPOCHS: Final = 9
"""A member of a consumer group or streams group may commit from this version of OffsetCommit on."""


class CommitsInItsEpoch(Rule):
    code = "CLIENT-57"
    title = "A consumer commits by OffsetCommit 9 or higher in its member epoch, and not again in an epoch that is stale"
    what = (
        "A member of a consumer group or streams group commits by version 9 or higher, in the epoch that it was told last, in a "
        "transaction too (there the epoch stands in `generation_id`). Where that is answered "
        "STALE_MEMBER_EPOCH (113) it does not commit in that epoch again before an answer to a heartbeat has told it an epoch."
    )
    why = "Older versions are refused (35), and so is a stale epoch as often as it comes: the partitions may have another owner by now."
    source = ("clients.md#client-57", "KIP-848", "CommitRequestManager", "KIP-1071")
    fix = "Read the epoch when the request is sent; after 113 wait for a heartbeat's answer with another one, else fail the commit."
    kept = f"""{HEADER}{JOINED}
A: OffsetCommit v9 member_id=a generation_id_or_member_epoch=$epoch topics=[t($t1, o(0, 5))] -> 0
"""
    broken = f"""{HEADER}{JOINED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
pause 300
A: OffsetCommit v9 member_id=a generation_id_or_member_epoch=99 topics=[t($t1, o(0, 5))] -> 113
pause 300
A: OffsetCommit v9 member_id=a generation_id_or_member_epoch=99 topics=[t($t1, o(0, 5))] -> 113
"""
    also_kept: ClassVar[dict[str, str]] = {
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.DEALT}
A: OffsetCommit v9 member_id=a generation_id_or_member_epoch=$now topics=[t($t1, o(0, 5))] -> 0
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "in-a-transaction": f"""{HEADER}{JOINED}{IN_TRANSACTION}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
pause 300
T: TxnOffsetCommit v3 {WHO} generation_id=99 member_id=a topics=[t($t1, o(0, 5))] -> 22
""",
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.JOINED}
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$epoch -> 0
pause 300
A: OffsetCommit v9 member_id=a generation_id_or_member_epoch=99 topics=[t($t1, o(0, 5))] -> 113
pause 300
A: OffsetCommit v9 member_id=a generation_id_or_member_epoch=99 topics=[t($t1, o(0, 5))] -> 113
pause 300
""",
    }

    @asked(OFFSET_COMMIT, TXN_OFFSET_COMMIT)
    def commits(self, x: Exchange) -> Judgements:
        """Judge commits with a generation; a commit without one does not belong to a member (CLIENT-21)."""
        course = course_of(x.member)
        if x.member is None or course is None or course.told is None or epoch_of(x) < 0:
            return
        refused: Exchange | None = x.member.notes.get(self.code)
        if x.key == OFFSET_COMMIT and x.version < WITH_EPOCHS:
            yield Broken(
                f"{x.member.name} has a member epoch and commits by OffsetCommit {x.version}",
                (*course.told.rows, x.seq),
                f"OffsetCommit {WITH_EPOCHS} or higher, with its member epoch",
            )
        elif refused is not None and epoch_of(refused) == epoch_of(x) and course.told.answer_seq < refused.answer_seq:
            yield from self._again(x, x.member, refused)
        else:
            yield from self._in_its_epoch(x, x.member, course, course.told)

    def _again(self, x: Exchange, member: Member, refused: Exchange) -> Judgements:
        if refused.link is x.link and self.knew(x, refused):
            yield Broken(
                f"{member.name} was refused a commit in epoch {epoch_of(x)} as STALE_MEMBER_EPOCH and commits in it again",
                (*refused.rows, x.seq),
                "no commit before a heartbeat is answered with another epoch",
            )
        else:
            yield UNREAD

    def _in_its_epoch(self, x: Exchange, member: Member, course: Course, told: Exchange) -> Judgements:
        """Judge the epoch in a commit. An answer on another connection may not have arrived yet. A producer has a connection of its own,
        where only an earlier heartbeat in the new epoch shows that its process knew it."""
        said = course.said
        if x.key == OFFSET_COMMIT or told.link is x.link:
            sure = told.link is x.link and said is told and self.knew(x, told)
        else:
            sure = said is not None and epoch_said(said) == course.epoch and self.sent_later(x, said)
        if not sure:
            yield UNREAD
        elif epoch_of(x) == course.epoch:
            yield KEPT
        else:
            yield Broken(
                f"{member.name} was told epoch {course.epoch} and commits in epoch {epoch_of(x)}",
                (*told.rows, x.seq),
                f"a commit in epoch {course.epoch}",
            )

    @answered(OFFSET_COMMIT)
    def is_stale(self, x: Exchange) -> Judgements:
        """Note the member epoch in which commits are refused as stale."""
        if x.member is not None and course_of(x.member) is not None and x.heard and STALE in x.errors:
            x.member.notes[self.code] = x
        return iter(())
