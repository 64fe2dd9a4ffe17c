"""CLIENT-51 requires that a heartbeat has the member epoch of the last answer."""

from __future__ import annotations

from typing import ClassVar

from .. import share_example, streams_example
from ..consumer_example import ASKED_FOR_HALF, HEADER, JOINED
from ..course import BEATS, JOINING, course_of, epoch_said
from ..judgement import UNREAD
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class SpeaksInItsEpoch(Rule):
    code = "CLIENT-51"
    title = "A heartbeat of a consumer, share or streams group has the member epoch of the last answer"
    what = (
        "A ConsumerGroupHeartbeat, ShareGroupHeartbeat or StreamsGroupHeartbeat that neither joins nor leaves has the `member_epoch` "
        "of the last answer that the member has heard."
    )
    why = (
        "The coordinator fences a member with another epoch (110): it loses all of its partitions. The one before the last is "
        "forgiven only to a member that owns nothing new, since the last answer may have been lost."
    )
    source = ("clients.md#client-51", "KIP-848", "consumer-groups.md#cg-64", "KIP-1071")
    fix = "Take the epoch over from each answer without an error before the next heartbeat is built."
    kept = f"""{HEADER}{JOINED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
"""
    broken = f"""{HEADER}{JOINED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch+1 -> 110
"""
    also_kept: ClassVar[dict[str, str]] = {
        "in-a-share-group": f"""{share_example.HEADER}{share_example.JOINED}
A: ShareGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
""",
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.JOINED}
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$epoch -> 0
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "back": f"""{HEADER}{JOINED}{ASKED_FOR_HALF}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch topic_partitions=[{{name: $t1, partitions: $kept}}] -> 0 member_epoch=?later
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$later -> 0
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> any
""",
        "in-a-share-group": f"""{share_example.HEADER}{share_example.JOINED}
A: ShareGroupHeartbeat v1 member_id=a member_epoch=$epoch+1 -> 110
""",
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.JOINED}
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$epoch+1 -> 110
""",
    }
    settings: ClassVar[dict[str, str]] = {"group.consumer.assignment.interval.ms": "0"}

    @asked(*BEATS)
    def beats(self, x: Exchange) -> Judgements:
        """Judge the member epoch of a heartbeat. An answer on another connection may not have arrived yet."""
        course, epoch = course_of(x.member), epoch_said(x)
        if x.member is None or course is None or course.told is None or epoch <= JOINING:
            return
        before = course.said
        if before is not None and before.link is x.link and epoch < epoch_said(before):
            yield Broken(
                f"{x.member.name} sent a {x.name} of epoch {epoch} after one of epoch {epoch_said(before)}",
                (before.seq, x.seq),
                f"member_epoch {course.epoch}: epochs do not go back",
            )
        elif course.told.link is not x.link or course.said is not course.told or not self.knew(x, course.told):
            yield UNREAD
        elif epoch == course.epoch:
            yield KEPT
        else:
            yield Broken(
                f"{x.member.name} was told epoch {course.epoch} and sent a {x.name} of epoch {epoch}",
                (*course.told.rows, x.seq),
                f"member_epoch {course.epoch}",
            )
