"""CLIENT-52 requires that a consumer sends heartbeats at the interval in the coordinator's answers, one at a time."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.units import NS_PER_MS

from .. import share_example, streams_example
from ..consumer_example import HEADER, JOINED
from ..course import BEATS, JOINING, assigns, course_of, epoch_said
from ..judgement import SLOW_BROKER
from ..order import GRACE_NS
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Member


class BeatsAsTold(Rule):
    code = "CLIENT-52"
    title = "Heartbeats of consumer, share and streams groups come as often as the last answer says, one at a time"
    severity = WARNING
    what = (
        "The next ConsumerGroupHeartbeat, ShareGroupHeartbeat or StreamsGroupHeartbeat comes after `heartbeat_interval_ms` of the last "
        "answer, or at once when there is something to say: not before half of it with nothing new, not after twice as long by a process "
        "that sends other requests, and not before the last one is answered. A member of a streams group may list its tasks at any time."
    )
    why = (
        "Coordinators hand out and take back partitions in these answers alone: whoever comes late keeps the whole group waiting, and "
        "is removed after its session. Who comes too often costs a coordinator its time. Two at once carry the same news twice. (Java "
        "4.3 repeats one without a pause while it looks for the name of a topic that it was assigned.)"
    )
    source = (
        "clients.md#client-52",
        "clients.md#rules-of-a-consumer-protocol-client",
        "KIP-848",
        "AbstractMembershipManager.maybeReconcile",
    )
    fix = "Start the timer anew with the interval of each answer; the consumer has no setting of its own for it."
    settings: ClassVar[dict[str, str]] = {f"group.{each}.heartbeat.interval.ms": "1000" for each in ("consumer", "share", "streams")}
    kept = f"""{HEADER}{JOINED}
pause 700
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
pause 1000
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
"""
    broken = f"""{HEADER}{JOINED}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
pause 2000
A: Metadata topics=[{{name: $t1}}]
pause 500
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0
"""

    also_kept: ClassVar[dict[str, str]] = {
        "in-a-share-group": f"""{share_example.HEADER}{share_example.JOINED}
pause 700
A: ShareGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0 member_epoch=?now
pause 1000
A: ShareGroupHeartbeat v1 member_id=a member_epoch=$now -> 0
""",
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.JOINED}
pause 700
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$epoch -> 0 member_epoch=?now
pause 1000
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$now -> 0
""",
    }
    also_broken: ClassVar[dict[str, str]] = {
        "in-a-share-group": f"""{share_example.HEADER}{share_example.JOINED}
A: ShareGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0 member_epoch=?now
pause 2000
A: Metadata topics=[{{name: $t1}}]
pause 500
A: ShareGroupHeartbeat v1 member_id=a member_epoch=$now -> 0
""",
        "in-a-streams-group": f"""{streams_example.HEADER}{streams_example.JOINED}
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$epoch -> 0 member_epoch=?now
pause 2000
A: Metadata topics=[{{name: $t1}}]
pause 500
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$now -> 0
""",
    }

    @asked(*BEATS)
    def beats(self, x: Exchange) -> Judgements:
        """Judge the pause before a heartbeat. A member that joins or leaves may be early, and a new connection does not know of a
        heartbeat that waits on the old one."""
        course = course_of(x.member)
        before = None if course is None else course.said
        if x.member is None or before is None or before.link is not x.link or before.abandoned or epoch_said(x) <= JOINING:
            return
        if before.answered is None or x.received < before.answered:
            sooner = (x.received - before.received) // NS_PER_MS
            yield Broken(
                f"{x.member.name} sent a {x.name} {sooner} ms after another one that was not answered yet",
                (*before.rows, x.seq),
                "the next one when the last one is answered, or given up with its connection",
            )
        elif before.heard and not before.error and before.answer is not None:
            yield from self._in_time(x, x.member, before, before.answer["heartbeat_interval_ms"] * NS_PER_MS)

    def _in_time(self, x: Exchange, member: Member, before: Exchange, interval: int) -> Judgements:
        soon = x.received - before.received < interval // 2
        if soon and before.answer is not None and assigns(before.answer):
            return  # The member may answer a new assignment at once.
        if soon and x.asked.get("active_tasks") is not None:
            return  # Kafka Streams lists its tasks again, at any time and unchanged, while its threads take them up.
        if not soon or x.asked != before.asked:
            yield KEPT
            return
        if before.behind:
            yield SLOW_BROKER
            return
        sooner, told = (x.received - before.received) // NS_PER_MS, interval // NS_PER_MS
        yield Broken(
            f"{member.name} sent the same {x.name} again after {sooner} ms, told to send one every {told} ms",
            (*before.rows, x.seq),
            "the next one after the interval of the last answer, unless there is something to say",
        )

    @answered(*BEATS)
    def is_told(self, x: Exchange) -> Judgements:
        """Note how long the member may take to give up partitions."""
        member = x.member
        if member is not None and x.heard and not x.error and x.answer and x.answered is not None and epoch_said(x) >= JOINING:
            interval = x.answer["heartbeat_interval_ms"] * NS_PER_MS
            self.later(x.answered + 2 * interval + GRACE_NS, member, lambda: self._late(member, x, interval))
        return iter(())

    def _late(self, member: Member, x: Exchange, interval: int) -> Judgements:
        """Judge a member that has sent no heartbeat since its last one, although its process was active and had its coordinator. A
        process without requests may have been held up."""
        course = course_of(member)
        if x.answered is None or course is None or course.said is not x or x.link.gone or x.link.open:
            return
        processes = self.world.processes
        busy = max(x.link.troubled, processes.sought(member)) >= x.answered
        if not busy and processes.spoke(member) > x.answered + interval + interval // 2:
            yield Broken(
                f"{member.name} was told to send a {x.name} every {interval // NS_PER_MS} ms and sent none for twice as "
                "long, though its process sent other requests",
                x.rows,
                f"a {x.name} every {interval // NS_PER_MS} ms, whatever the application does",
            )
