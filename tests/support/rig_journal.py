"""Writes a journal file on the virtual clock, with a member whose commit is refused; its times and bytes never change."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from groupmock.journal.file import FileSink
from groupmock.journal.journal import Sink
from groupmock.rig import WireRig
from groupmock.rig.wire import read_response, request
from groupmock_codec import APIS
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.embedded.consumer import Subscription, encode_subscription
from groupmock_codec.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol


def never(reason: str) -> None:
    """Raise an error, because the disk of a test is never full."""
    raise AssertionError(reason)


def write_journal(path: Path, group: str = "billing", max_bytes: int | None = None, beats: int = 0, sinks: Iterable[Sink] = ()) -> Path:
    """Write a journal: anna joins alone, heartbeats (`beats` times), commits with a wrong generation and disconnects.

    It has 27 rows and two more per beat; `sinks` get them too.
    """
    rig = WireRig.make(topics={"orders": 4}, seed=11, sinks=[FileSink(str(path), never, max_bytes), *sinks])
    wire = rig.connect()
    wish = JoinGroupRequest(
        group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=encode_subscription(Subscription(version=0, topics=["orders"])))],
    )  # fmt: skip
    wish.member_id = wire.ask(JOIN_GROUP, 5, wish, "anna").member_id
    wire.send(request(JOIN_GROUP, 5, wish, 99, "anna"))
    rig.sleep(3000)
    joined = read_response(JOIN_GROUP, 5, wire.take()[0], 99)[1]
    me = {"group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id}  # type: ignore[attr-defined]
    wire.ask(SYNC_GROUP, 3, APIS[SYNC_GROUP].request.message(**me), "anna")
    for _ in range(beats):
        rig.sleep(10)
        wire.ask(HEARTBEAT, 3, APIS[HEARTBEAT].request.message(**me), "anna")
    partitions = [OffsetCommitRequestPartition(partition_index=2, committed_offset=17)]
    topics = [OffsetCommitRequestTopic(name="orders", partitions=partitions)]
    commit = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=9, member_id=wish.member_id, topics=topics)
    wire.ask(OFFSET_COMMIT, 7, commit, "anna")
    wire.hang_up()
    rig.sleep(20_000)
    rig.close()
    return path
