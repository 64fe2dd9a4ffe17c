"""CLIENT-95 requires that a static member of a consumer group that comes back has left with epoch -2."""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT

from ..consumer_example import HEADER, JOINED
from ..course import JOINING, epoch_said
from ..judgement import OWN_REASON, UNREAD
from ..repeating import SILENCE_NS
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, answered, asked
from ..subjects import Exchange

FOR_GOOD: Final = -1
STATIC: Final = HEADER + JOINED.replace("member_id=a", "member_id=a instance_id=i")
LEAVES: Final = "A: ConsumerGroupHeartbeat v1 member_id=a instance_id=i member_epoch=%d -> 0\n"
RETURNS: Final = JOINED.replace("A:", "B:").replace("member_id=a", "member_id=b instance_id=i").replace("?epoch", "*")


class StaticConsumersStay(Rule):
    code = "CLIENT-95"
    title = "A static member of a consumer group that comes back leaves with epoch -2"
    severity = WARNING
    what = (
        "A member with an instance id that leaves with epoch -1 does not join again under this instance id within a minute. One that comes "
        "back leaves with -2. An application may ask for the former (KIP-1092)."
    )
    why = (
        "With -1 its partitions go to other members at once and come back with it: each restart costs the group two rebalances, which is "
        "what static membership was made to avoid."
    )
    source = ("clients.md#client-95", "KIP-848", "KIP-1092", "consumer-groups.md#cg-90")
    fix = "Leave with epoch -2 if there is an instance id, unless the application asked to leave for good."
    kept = f"""{STATIC}{LEAVES % -2}pause 300
{RETURNS}
"""
    broken = f"""{STATIC}{LEAVES % -1}pause 300
{RETURNS}
"""

    @answered(CONSUMER_GROUP_HEARTBEAT)
    def leaves(self, x: Exchange) -> Judgements:
        """Note how a static member left."""
        if x.group is not None and x.heard and not x.error and x.asked["instance_id"] is not None and epoch_said(x) < JOINING:
            x.group.note(self.code, dict[str, Exchange])[x.asked["instance_id"]] = x
        return iter(())

    @asked(CONSUMER_GROUP_HEARTBEAT)
    def returns(self, x: Exchange) -> Judgements:
        """Judge the return of a static member by the way in which it left."""
        if x.group is None or epoch_said(x) != JOINING or x.asked["instance_id"] is None:
            return
        left: Exchange | None = x.group.note(self.code, dict[str, Exchange]).pop(x.asked["instance_id"], None)
        if left is None:
            return
        if x.waited_since(left) < 0:
            yield UNREAD
        elif x.waited_since(left) >= SILENCE_NS:
            yield OWN_REASON
        elif epoch_said(left) != FOR_GOOD:
            yield KEPT
        else:
            yield Broken(
                f"{x.who} left as static member {x.asked['instance_id']!r} with epoch -1, for good, and joined again "
                f"{x.waited_since(left) // 1_000_000} ms later",
                (*left.rows, x.seq),
                "epoch -2, by which it keeps its partitions until its session has expired",
            )
