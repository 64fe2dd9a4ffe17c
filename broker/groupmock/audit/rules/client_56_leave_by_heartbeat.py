"""CLIENT-56 requires that a consumer that is closed leaves by a heartbeat of epoch -1, or -2 if it is static."""

from __future__ import annotations

from typing import ClassVar

from .. import share_example, streams_example
from ..consumer_example import HEADER, JOINED
from ..course import BEATS, JOINING, course_of, epoch_said
from ..rule import KEPT, Broken, Judgements, Rule, asked, closed
from ..subjects import Exchange, Link

LEAVE = -1


class LeavesByAHeartbeat(Rule):
    code = "CLIENT-56"
    title = "A consumer that is closed sends a ConsumerGroupHeartbeat of epoch -1, a static one of -2"
    what = (
        "When its application closes it, a member without an instance id sends a ConsumerGroupHeartbeat, in a share group a "
        "ShareGroupHeartbeat, in a streams group a StreamsGroupHeartbeat, of epoch -1. A static member "
        "sends -2 and may be back within its session; its application may ask for -1 instead (KIP-1092). That a process was closed "
        "and did not crash is on no wire: that nothing came is judged where a row of kind `client` says so."
    )
    why = (
        "Until its session has expired nobody gets the partitions of a member that says nothing, and a static member's successor is "
        "refused for good (111), since the place is taken."
    )
    source = ("clients.md#client-56", "KIP-848", "KIP-1092", "consumer-groups.md#cg-90", "KIP-1071")
    fix = "Send the last heartbeat on close, when what was read is committed, and wait a moment for its answer."
    kept = f"""{HEADER}{JOINED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=-1 -> 0
"""
    broken = f"""{HEADER}{JOINED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=-2 -> 42
"""

    also_kept: ClassVar[dict[str, str]] = {
        "in-a-share-group": f"""{share_example.HEADER}{share_example.JOINED}
A: ShareGroupHeartbeat v1 member_id=a member_epoch=-1 -> 0
""",
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.JOINED}
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=-1 -> 0
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "in-a-share-group": f"""{share_example.HEADER}{share_example.JOINED}
A: ShareGroupHeartbeat v1 member_id=a member_epoch=-2 -> 42
""",
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.JOINED}
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=-2 -> 42
""",
    }

    @asked(*BEATS)
    def leaves(self, x: Exchange) -> Judgements:
        """Judge the epoch with which a member leaves."""
        if x.member is None or epoch_said(x) >= JOINING:
            return
        static = x.asked.get("instance_id") is not None
        if static:
            return  # It may leave for good, too.
        if epoch_said(x) == LEAVE:
            yield KEPT
        else:
            yield Broken(f"{x.member.name} has no instance id and leaves with epoch {epoch_said(x)}", (x.seq,), "member_epoch -1")

    @closed
    def gone(self, link: Link) -> Judgements:
        """Judge a process that was asked to stop and closed its last connection itself. A request that still waits there may be the
        leaving heartbeat."""
        member, ending = link.last, link.ending
        course = course_of(member)
        if member is None or course is None or course.said is None or member.link is not link or member.gone:
            return
        if ending is None or ending.by != "client" or link.stopping is None or not self.world.processes.last_of(link):
            return
        disturbed = link.troubled >= 0 or link.lossy or link.open or ending.unread_bytes or ending.cut_bytes
        if disturbed:
            return
        if epoch_said(course.said) < JOINING:
            yield KEPT
        elif course.told is not None:
            yield Broken(
                f"{member.name} was asked to stop and closed its connection without leaving its group",
                (*course.told.rows, link.stopping, ending.seq),
                f"a {course.said.name} of epoch -1, of a static member -2, before the connection is closed",
            )
