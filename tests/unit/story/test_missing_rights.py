"""The story names the right that a refused client lacks."""

from __future__ import annotations

from rights import STANDARD

from groupmock.rig import WireRig
from groupmock.rig.kept_rows import KeptRows
from groupmock.story.sentences import of_denied
from groupmock.story.telling import tell
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic


def _commit(*topics: str) -> OffsetCommitRequest:
    rows = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    return OffsetCommitRequest(group_id="kitchen", topics=[OffsetCommitRequestTopic(name=name, partitions=rows) for name in topics])


def test_story_names_the_missing_right_of_a_refused_request() -> None:
    kept = KeptRows()
    rig = WireRig.make(profile="kafka-4.4", settings={"authorizer.class.name": STANDARD}, topics={"orders": 1, "pay": 1}, sinks=[kept])
    wire = rig.connect()
    rig.command("allow", principal="*", operations=["READ"], group="kitchen")
    rig.command("allow", principal="*", operations=["READ"], topic="pay")
    wire.ask(8, 7, _commit("orders", "pay"), client_id="anna")
    rig.command("remove_acls", group="kitchen")
    wire.ask(8, 7, _commit("pay"), client_id="anna")
    story = "\n".join(tell(kept.rows))
    assert "TOPIC_AUTHORIZATION_FAILED (READ on topic orders denied to User:ANONYMOUS)" in story
    assert "GROUP_AUTHORIZATION_FAILED (READ on group kitchen denied to User:ANONYMOUS)" in story
    told = [of_denied(row) for row in kept.of("note") if of_denied(row) is not None]
    assert told == ["READ on topic orders denied to User:ANONYMOUS", "READ on group kitchen denied to User:ANONYMOUS"]


def test_story_names_the_missing_right_of_a_client_that_gets_no_further() -> None:
    kept = KeptRows()
    rig = WireRig.make(profile="kafka-4.4", settings={"authorizer.class.name": STANDARD}, topics={"orders": 1}, sinks=[kept])
    rig.command("allow", principal="*", operations=["READ"], group="of-", prefixed=True)
    rig.connect().ask(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), client_id="anna")
    story = "\n".join(tell(kept.rows))
    assert "REFUSED: Metadata TOPIC_AUTHORIZATION_FAILED (DESCRIBE on topic orders denied to User:ANONYMOUS), and asked nothing" in story
    assert "of-:" not in story, "a prefix is no group"
