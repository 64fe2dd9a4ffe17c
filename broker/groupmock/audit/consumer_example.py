"""The examples of rules about consumer groups (KIP-848) share this beginning: A is alone in its group and has both partitions."""

from __future__ import annotations

from typing import Final

HEADER: Final = """
topics: t1:2
member A: rebalance_timeout_ms=-1
"""
"""A topic of two partitions. A sends its rebalance timeout only when it joins."""
_HEARTBEAT: Final = "rebalance_timeout_ms=2000 subscribed_topic_names=[$t1] topic_partitions=[]"
JOINED: Final = f"""
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=0 {_HEARTBEAT} -> 0 member_epoch=?epoch eventually
pause 300
"""
ASKED_FOR_HALF: Final = f"""
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch topic_partitions=[{{name: $t1, partitions: [0, 1]}}] -> 0
B: ConsumerGroupHeartbeat v1 member_id=b member_epoch=0 {_HEARTBEAT} -> 0
pause 300
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 0 assignment={{topic_partitions: [{{name: $t1, partitions: ?kept}}]}}
"""
"""B joins, and the coordinator asks A to give up one of its partitions."""
FENCED: Final = """
O: LeaveGroup v3 members=[who(a)] -> 0
A: ConsumerGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 25
pause 300
"""
"""An administrator removes A from the group, and A's next heartbeat is answered with an error."""
