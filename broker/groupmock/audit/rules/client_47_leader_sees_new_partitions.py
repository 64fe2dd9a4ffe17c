"""CLIENT-47 requires that the leader joins again when a topic has more partitions than it assigned."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from groupmock_codec.api_keys import JOIN_GROUP, METADATA, SYNC_GROUP
from groupmock_codec.units import NS_PER_MS

from ...rounds.embedded import EAGER, Partition
from ...text.printable import one_line
from ..inside import CONSUMER, ROUND_ROBIN_OF_KAFKAJS, STICKY, claimed_in, given_by, plan_of
from ..order import GRACE_NS
from ..rule import KEPT, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange, Member

ALL = EAGER | {STICKY, ROUND_ROBIN_OF_KAFKAJS}
"""Assignors that assign all partitions that they know. Another assignor is judged for the topics of which it has assigned all."""


class Led:
    """The generation that a leader has assigned: for each topic the number of partitions that it knew, and a function that cancels the
    later check that it joined again."""

    __slots__ = ("counts", "off", "sync")

    def __init__(self, sync: Exchange, counts: dict[str, int]) -> None:
        self.sync, self.counts = sync, counts
        self.off: Callable[[], None] | None = None


class LeaderSeesGrowth(Rule):
    code = "CLIENT-47"
    title = "The leader joins again when a topic has more partitions than it assigned"
    what = (
        "Once an answer to Metadata shows the leader more partitions of a subscribed topic than it has given out, it sends a JoinGroup, "
        "within "
        "its rebalance timeout at the latest. Followers need not."
    )
    why = "Nobody else looks: until the leader assigns anew nobody reads the new partitions."
    source = ("clients.md#client-47", "ConsumerCoordinator.rejoinNeededOrPending")
    fix = (
        "Remember the partition counts that the assignment was made of, compare them after every Metadata answer, and join again if they "
        "differ."
    )
    kept = """
topics: t2:1[]
member *: rebalance_timeout_ms=1000 protocols=[p("range", sub("$t2"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t2", 0)))] -> 0
C: CreatePartitions topics=[{name: $t2, count: 2, assignments: null}] -> 0 eventually
pause 100
A: Metadata topics=[{name: $t2}] -> any
A: JoinGroup -> 0 generation_id=2
"""
    broken = """
topics: t2:1[]
member *: rebalance_timeout_ms=1000 protocols=[p("range", sub("$t2"))]
do completing1(A)
A: SyncGroup assignments=[for($A.member_id, told(held("$t2", 0)))] -> 0
C: CreatePartitions topics=[{name: $t2, count: 2, assignments: null}] -> 0 eventually
pause 100
A: Metadata topics=[{name: $t2}] -> any
repeat 3
pause 500
A: Heartbeat -> 0
end
"""
    also_broken: ClassVar[dict[str, str]] = {
        # An assignor of any name that has assigned all partitions of a topic is expected to assign the new ones.
        "by-an-assignor-of-its-own": broken.replace('"range"', '"my-own"').replace(
            "do completing1(A)\n", "do completing1(A)\nA: Metadata topics=[{name: $t2}] -> any\n"
        ),
    }

    @asked(SYNC_GROUP)
    def leads(self, x: Exchange) -> Judgements:
        """Note how many partitions this leader knew of each topic from which it assigns."""
        plan, member = plan_of(x), x.member
        if plan is None or member is None or plan.protocol_type != CONSUMER:
            return
        claims, given = list(claimed_in(plan).values()), [told for _, told in given_by(plan, x)]
        held = set[Partition]().union(*(each.assigned for each in given if each), *(each.owned for each in claims if each))
        counts: dict[str, int] = {}
        for topic, number in held:
            counts[topic] = max(counts.get(topic, 0), number + 1)
        if plan.protocol not in ALL:
            heard = self.world.processes.heard_of(member)
            counts = {
                topic: count
                for topic, count in counts.items()
                if count == heard.get(topic) and held.issuperset((topic, number) for number in range(count))
            }
        self._call_off(member)
        if None not in claims and None not in given and counts:
            member.notes[self.code] = Led(x, counts)
        yield from ()

    @answered(METADATA)
    def hears(self, x: Exchange) -> Judgements:
        """Judge whether an answer to Metadata shows new partitions to a leader, if its process has only one member."""
        member = self.world.processes.sole_member(x.link)
        led: Led | None = None if member is None else member.notes.get(self.code)
        if led is None or member is None or led.off is not None or x.answer is None or not x.heard or x.answered is None:
            return
        grown = {
            str(each["name"]): len(each["partitions"])
            for each in x.answer["topics"]
            if not each["error_code"] and len(each["partitions"]) > led.counts.get(str(each.get("name")), len(each["partitions"]))
        }
        if grown and member.joining is None:
            due = x.answered + member.rebalance_ns + GRACE_NS
            led.off = self.later(due, member, lambda: self._late(member, led, x, grown))
        yield from ()

    @asked(JOIN_GROUP)
    def comes_again(self, x: Exchange) -> Judgements:
        """Note that the member joined again for any reason."""
        led = None if x.member is None else self._call_off(x.member)
        if led is not None and led.off is not None:
            yield KEPT

    def _call_off(self, member: Member) -> Led | None:
        led: Led | None = member.notes.pop(self.code, None)
        if led is not None and led.off is not None:
            led.off()
        return led

    def _late(self, member: Member, led: Led, told: Exchange, grown: dict[str, int]) -> Judgements:
        if member.notes.get(self.code) is not led or member.joining is not None or member.seen + member.session_ns < self.world.now:
            return
        topic, count = min(grown.items())
        yield Broken(
            f"{member.name} leads the group and was told that {one_line(topic)} has {count} partitions; it has given {led.counts[topic]} "
            f"and has not joined again for {member.rebalance_ns // NS_PER_MS} ms",
            (led.sync.seq, *told.rows),
            "a JoinGroup of the leader, and an assignment of all partitions",
        )
