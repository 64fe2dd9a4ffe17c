"""DeleteShareGroupOffsets of groups with and without stored states (SG-106)."""

from __future__ import annotations

from groupmock.rig import WireRig
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from groupmock_codec.messages.k92_delete_share_group_offsets import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic


def test_a_group_that_never_had_a_stored_state_has_no_rows() -> None:
    rig = WireRig.make(topics={"t": 1})
    wire = rig.connect()

    def left_after(topics: list[str]) -> None:
        wire.ask(76, 1, ShareGroupHeartbeatRequest(group_id="g", member_id="A", subscribed_topic_names=topics))
        rig.sleep(1000)
        wire.ask(76, 1, ShareGroupHeartbeatRequest(group_id="g", member_id="A", member_epoch=-1))

    def deleted() -> list[int]:
        topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in ("t", "u")]
        asked = DeleteShareGroupOffsetsRequest(group_id="g", topics=topics)
        return [each.error_code for each in wire.ask(92, 0, asked).responses]

    left_after(["no-such-topic"])
    assert deleted() == []
    left_after(["t"])
    assert deleted() == [0, 3]
    rig.command("move_coordinator", group="g")
    assert deleted() == [3, 3]
