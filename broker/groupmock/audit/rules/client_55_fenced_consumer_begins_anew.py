"""CLIENT-55 requires that after FENCED_MEMBER_EPOCH (110) or UNKNOWN_MEMBER_ID (25) the next heartbeat has epoch 0 and owns nothing."""

from __future__ import annotations

from typing import ClassVar

from .. import share_example, streams_example
from ..consumer_example import FENCED, HEADER, JOINED
from ..course import BEATS, JOINING, OUTSIDE, OWNED, course_of, epoch_said, owns_nothing
from ..judgement import UNREAD
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class JoinsAgainWithNothing(Rule):
    code = "CLIENT-55"
    title = "After FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID a consumer joins again with epoch 0 and owns nothing"
    what = (
        "A member whose ConsumerGroupHeartbeat, ShareGroupHeartbeat or StreamsGroupHeartbeat was answered FENCED_MEMBER_EPOCH (110) or "
        "UNKNOWN_MEMBER_ID (25) sends the next one with epoch 0, in a consumer group with an empty list of owned partitions, in a streams "
        "group with three empty lists of tasks, or leaves."
    )
    why = "Its partitions are others' already. With the old epoch it is refused again and again, and nobody knows that it is still there."
    source = ("clients.md#client-55", "KIP-848", "AbstractMembershipManager.transitionToFenced")
    fix = "Drop all partitions (the listener for lost ones), set the epoch to 0, and join at once under the same member id."
    kept = f"""{HEADER}{JOINED}{FENCED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=0 rebalance_timeout_ms=2000 subscribed_topic_names=[$t1] topic_partitions=[] -> 0
"""
    broken = f"""{HEADER}{JOINED}{FENCED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 25
"""

    also_kept: ClassVar[dict[str, str]] = {
        "in-a-share-group": f"""{share_example.HEADER}{share_example.JOINED}{share_example.FENCED}
A: ShareGroupHeartbeat v1 member_id=a member_epoch=0 subscribed_topic_names=[$t1] -> 0
""",
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.JOINED}{streams_example.FENCED}
{streams_example.JOINS} -> 0
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "in-a-share-group": f"""{share_example.HEADER}{share_example.JOINED}{share_example.FENCED}
A: ShareGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 25
""",
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.JOINED}{streams_example.FENCED}
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$epoch -> 25
""",
    }

    @asked(*BEATS)
    def goes_on(self, x: Exchange) -> Judgements:
        """Judge whether the client joins as a new member. An answer on another connection may not have arrived yet."""
        course = course_of(x.member)
        told = None if course is None else course.outside
        if x.member is None or told is None or epoch_said(x) < JOINING:
            return
        if told.link is not x.link or not self.knew(x, told):
            yield UNREAD
        elif epoch_said(x) == JOINING and owns_nothing(x):
            yield KEPT
        else:
            yield Broken(
                f"{x.member.name} was answered {OUTSIDE[told.error]} and sent its next {x.name} with epoch {epoch_said(x)}"
                + (" and what it owns" if any(x.asked.get(name) for name in OWNED) else ""),
                (*told.rows, x.seq),
                "member_epoch 0, empty lists of what the member owns, and all else that a join has",
            )
