"""CLIENT-50 requires that a heartbeat of epoch 0 has the rebalance timeout, the subscription and an empty list of owned partitions."""

from __future__ import annotations

from collections.abc import Iterator

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT

from ..consumer_example import HEADER, JOINED
from ..course import JOINING, epoch_said
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class JoinsInFull(Rule):
    code = "CLIENT-50"
    title = "The ConsumerGroupHeartbeat that joins has rebalance timeout, subscription and an empty list of owned partitions"
    what = (
        "A ConsumerGroupHeartbeat with epoch 0 has a `rebalance_timeout_ms`, topic names or (version 1) an expression, and "
        "`topic_partitions` that is an empty list, not null: null says that nothing has changed."
    )
    why = "The coordinator refuses it otherwise (42), and clients take that for fatal: the consumer never gets a partition."
    source = ("clients.md#client-50", "KIP-848", "consumer-groups.md#cg-12")
    fix = "Build the request of a join from everything that the member knows, each time that its epoch is 0."
    kept = f"{HEADER}{JOINED}"
    broken = f"""{HEADER}
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=0 rebalance_timeout_ms=2000 subscribed_topic_names=[$t1] topic_partitions=null -> 42
"""

    @asked(CONSUMER_GROUP_HEARTBEAT)
    def joins(self, x: Exchange) -> Judgements:
        if epoch_said(x) != JOINING:
            return
        lacks = list(_lacking(x))
        if not lacks:
            yield KEPT
            return
        yield Broken(
            f"{x.who} joins by a ConsumerGroupHeartbeat {' and '.join(lacks)}",
            (x.seq,),
            "rebalance_timeout_ms, a subscription and topic_partitions=[] in each heartbeat with epoch 0",
        )


def _lacking(x: Exchange) -> Iterator[str]:
    if x.asked["rebalance_timeout_ms"] < 0:
        yield "without a rebalance timeout"
    if x.asked["subscribed_topic_names"] is None and x.asked.get("subscribed_topic_regex") is None:
        yield "without a subscription"
    if x.asked["topic_partitions"] is None:
        yield "whose list of owned partitions is null"
    elif x.asked["topic_partitions"]:
        yield "that claims to own partitions"
