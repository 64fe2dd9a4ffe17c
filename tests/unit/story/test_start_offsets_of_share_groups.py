"""The story says when share partitions are initialised, and who altered or deleted their start offsets."""

from __future__ import annotations

from groupmock.rig import WireRig
from groupmock.rig.kept_rows import KeptRows
from groupmock.story.telling import tell
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from groupmock_codec.messages.k91_alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from groupmock_codec.messages.k92_delete_share_group_offsets import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic


def test_story_tells_start_offsets_of_a_share_group() -> None:
    kept = KeptRows()
    rig = WireRig.make(topics={"orders": 2}, sinks=[kept])
    wire = rig.connect()
    wire.ask(76, 1, ShareGroupHeartbeatRequest(group_id="workers", member_id="anna", subscribed_topic_names=["orders"]), client_id="anna")
    rig.sleep(1000)
    wire.ask(76, 1, ShareGroupHeartbeatRequest(group_id="workers", member_id="anna", member_epoch=-1), client_id="anna")
    partition = AlterShareGroupOffsetsRequestPartition(partition_index=1, start_offset=7)
    topic = AlterShareGroupOffsetsRequestTopic(topic_name="orders", partitions=[partition])
    wire.ask(91, 0, AlterShareGroupOffsetsRequest(group_id="workers", topics=[topic]))
    gone = DeleteShareGroupOffsetsRequestTopic(topic_name="orders")
    wire.ask(92, 0, DeleteShareGroupOffsetsRequest(group_id="workers", topics=[gone]))
    told = [line.strip().partition("  ")[2] for line in tell(kept.rows)]
    assert "2 share partitions of orders initialised: the first fetch decides where it begins" in told
    assert "start offsets set by request: orders/1 at 7" in told
    assert "start offsets of orders deleted by request: the next member begins anew" in told
