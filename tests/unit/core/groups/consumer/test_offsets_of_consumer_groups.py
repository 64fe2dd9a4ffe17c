"""Offsets of a consumer group: commits, fetches and deletions, and deletion of the group (docs/kafka/consumer-groups.md; CG-130 to
CG-161)."""

from __future__ import annotations

from cases import for_each
from consumer_world import LEAVE, ConsumerWorld

from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k47_offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic


def test_members_commit_at_their_epoch() -> None:
    world = ConsumerWorld()
    world.join()
    assert [world.commit("A", 2, version=each) for each in (9, 10)] == [0, 0]
    assert world.commit("A", 2, topic="u") == 0, "not subscribed to"
    assert world.commit("A", 2, version=8) == 35
    assert [world.commit("B", 2), world.commit("", 2), world.commit()] == [25, 25, 25]
    assert world.commit("A", 3) == 113


@for_each(
    "member_id, epoch, former, code",
    [("A", 2, 0, 0), ("", -1, 0, 0), ("A", 3, 22, 113), ("A", 0, 22, 113), ("A", -1, 22, 113), ("B", 2, 25, 25)],
)
def test_a_transactional_commit_at_another_epoch_is_stale_since_version_6(member_id: str, epoch: int, former: int, code: int) -> None:
    """Version 5 says ILLEGAL_GENERATION (22) instead; each was asked of Kafka 4.4.0 (KIP-1319)."""
    world = ConsumerWorld()
    world.join()
    producer = world.ask(22, 4, InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000))
    found = []
    for version, topic in ((5, {"name": "t"}), (6, {"topic_id": world.topic_id("t")})):
        row = TxnOffsetCommitRequestTopic(**topic, partitions=[TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)])
        by = {"generation_id": epoch, "member_id": member_id, "topics": [row]}
        asked = TxnOffsetCommitRequest(transactional_id="x", group_id="g", producer_id=producer.producer_id, producer_epoch=0, **by)
        found.append(world.ask(28, version, asked).topics[0].partitions[0].error_code)
    assert found == [former, code]


def test_an_older_epoch_may_commit_what_it_had_then() -> None:
    world = ConsumerWorld()
    world.join("A")
    world.join("B")
    world.beat("A")
    assert [world.commit("A", 2, each) for each in (0, 5)] == [0, 0], "what it gives up, too"
    world.beat("A", owned=[0, 1, 2])
    assert [world.commit("A", 2, each) for each in (0, 5)] == [0, 113]
    world.beat("B")
    assert world.commit("B", 2, 3) == 113, "it was given that at 3"


def test_metadata_that_is_too_long_is_looked_at_before_any_older_epoch() -> None:
    world = ConsumerWorld()
    world.join("A")
    assert [world.commit("A", epoch, metadata="x" * 5_000) for epoch in (3, 1, -1)] == [113, 12, 12]
    assert world.commit("A", 1) == 113


def test_what_is_given_up_may_be_committed_though_nobody_subscribes_to_it() -> None:
    world = ConsumerWorld()
    world.join("A", "t", "u")
    assert world.beat("A", subscribed_topic_names=["t"]) == (2, [0, 1, 2, 3, 4, 5])
    world.join("B")
    world.beat("A", owned=[0, 1, 2])
    assert [world.commit("A", 2, topic="t"), world.commit("A", 2, 4)] == [0, 113]


def test_groups_without_members() -> None:
    world = ConsumerWorld()
    world.join()
    world.beat(member_epoch=LEAVE)
    assert [world.commit(), world.commit("A", 2)] == [0, 25]
    assert world.state()[0] == "Empty"


@for_each(
    "who, epoch, code",
    [("A", 2, 0), (None, -1, 0), ("A", 1, 113), ("A", 3, 113), ("A", -1, 113), ("B", 2, 25), ("", 2, 25), (None, 2, -1)],
)
def test_who_may_read_offsets(who: str | None, epoch: int, code: int) -> None:
    world = ConsumerWorld()
    world.join()
    world.commit("A", 2)
    assert world.fetched(who, epoch) == (code, [] if code else [5])
    assert world.fetched(version=8) == (0, [5])


def test_deletion() -> None:
    world = ConsumerWorld()
    world.join()
    world.commit("A", 2)
    world.commit("A", 2, topic="u")

    def deleted(topic: str) -> int:
        asked = OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        code: int = world.ask(47, 0, OffsetDeleteRequest(group_id="g", topics=[asked])).topics[0].partitions[0].error_code
        return code

    assert [deleted("t"), deleted("u")] == [86, 0]
    (result,) = world.ask(42, 3, DeleteGroupsRequest(groups_names=["g"])).results
    assert (result.error_code, result.error_message) == (68, None), "Kafka 4.4.0 has a text for GROUP_DELETION_FAILED (134) alone"
    world.beat(member_epoch=LEAVE)
    assert deleted("t") == 0
    (result,) = world.ask(42, 3, DeleteGroupsRequest(groups_names=["g"])).results
    assert (result.error_code, result.error_message) == (0, None)
    assert world.described()[0].error_message == "Group g not found."
    assert world.join() == (2, [0, 1, 2, 3, 4, 5])


def test_how_other_apis_see_it() -> None:
    world = ConsumerWorld()
    world.join()
    (listed,) = world.ask(16, 5, ListGroupsRequest(types_filter=["Consumer"], states_filter=["stable"])).groups
    assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == ("g", "consumer", "Stable", "consumer")
    (old,) = world.ask(15, 5, DescribeGroupsRequest(groups=["g"])).groups
    assert (old.error_code, old.group_state, old.protocol_type, old.members) == (0, "Dead", "", [])
    (new,) = world.ask(15, 6, DescribeGroupsRequest(groups=["g"])).groups
    assert (new.error_code, new.error_message) == (69, "Group g is not a classic group.")


def test_descriptions_of_others() -> None:
    world = ConsumerWorld()
    world.command("commit_offsets", group="c", offsets=[{"topic": "t", "partition": 0, "offset": 1}])
    found = world.described("c", "", "x")
    assert (found[0].group_id, found[0].error_code, found[0].error_message) == ("", 24, None)
    texts = {each.group_id: (each.error_code, each.error_message) for each in found}
    assert texts["c"] == (69, "Group c is not a consumer group.")
    assert texts["x"] == (69, "Group x not found.")
