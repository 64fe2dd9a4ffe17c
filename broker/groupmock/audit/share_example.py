"""The examples of rules about share groups (KIP-932) share this beginning: A has the only partition of its group and a share session."""

from __future__ import annotations

from typing import Final

from groupmock_codec.acknowledge_types import RENEW

HEADER: Final = """
topics: t1:1
member A: rebalance_timeout_ms=-1
"""
JOINED: Final = """
A: ShareGroupHeartbeat v1 member_id=a member_epoch=0 subscribed_topic_names=[$t1] -> 0 member_epoch=?epoch
pause 300
"""
FENCED: Final = """
O: ShareGroupHeartbeat v1 member_id=a member_epoch=-1 -> 0
A: ShareGroupHeartbeat v1 member_id=a member_epoch=$epoch -> 25
pause 300
"""
"""Another process leaves in A's name, and A's next heartbeat is answered with an error."""
WHO: Final = "member_id=a max_wait_ms=0 min_bytes=1 max_bytes=100000 max_records=10 batch_size=10"
OPENED: Final = f"""
A: ShareFetch v1 {WHO} share_session_epoch=0 topics=[{{name: $t1, partitions: [{{partition_index: 0}}]}}] -> 0
pause 300
"""
TAKEN: Final = f"""
O: Produce v9 acks=-1 topic_data=[put($t1, 0, records("a", "b", "c"))] -> 0
A: ShareFetch v1 {WHO} share_session_epoch=1 -> 0
pause 300
"""
"""A gets the records 0 to 2, because its group begins at the end of the log as of its first fetch."""
SESSION: Final = f"{HEADER}{JOINED}{OPENED}{TAKEN}"


def accepts(first: int, last: int, epoch: int, code: str = "0") -> str:
    """Return the line in which A accepts records, and the pause in which it reads the answer."""
    return _acknowledges("v1", 1, first, last, epoch, code)


def renews(first: int, last: int, epoch: int) -> str:
    """Return the line in which A renews the locks of records, and the pause in which it reads the answer."""
    return _acknowledges("v2", 4, first, last, epoch, "0")


def _acknowledges(version: str, kind: int, first: int, last: int, epoch: int, code: str) -> str:
    batch = f"{{first_offset: {first}, last_offset: {last}, acknowledge_types: [{kind}]}}"
    topics = f"[{{name: $t1, partitions: [{{partition_index: 0, acknowledgement_batches: [{batch}]}}]}}]"
    flag = " is_renew_ack=true" if kind == RENEW else ""
    return f"A: ShareAcknowledge {version} member_id=a share_session_epoch={epoch}{flag} topics={topics} -> {code}\npause 300\n"
