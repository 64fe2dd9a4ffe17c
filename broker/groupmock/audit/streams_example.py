"""The examples of rules about streams groups (KIP-1071) share this beginning: A is alone in its group, and its topology reads one topic."""

from __future__ import annotations

from typing import Final

HEADER: Final = """
topics: t1:2
member A: rebalance_timeout_ms=-1
"""
_TOPOLOGY: Final = 'topology={epoch: 0, subtopologies: [{subtopology_id: "0", source_topics: [$t1]}]}'
NOTHING: Final = "active_tasks=[] standby_tasks=[] warmup_tasks=[]"
JOINS: Final = (
    f"A: StreamsGroupHeartbeat v0 member_id=a member_epoch=0 process_id=p rebalance_timeout_ms=2000 client_tags=[] {_TOPOLOGY} {NOTHING}"
)
JOINED: Final = f"""
{JOINS} -> 0 member_epoch=?epoch eventually
pause 300
"""
DEALT: Final = f"""{JOINED}pause 3000
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$epoch -> 0 member_epoch=?now
pause 300
"""
"""A is told its tasks after the initial rebalance delay."""
FENCED: Final = """
O: StreamsGroupHeartbeat v0 member_id=a member_epoch=-1 -> 0
A: StreamsGroupHeartbeat v0 member_id=a member_epoch=$epoch -> 25
pause 300
"""
"""Another process leaves in A's name, and A's next heartbeat is answered with an error."""
