"""A consumer group member without IO reports in each heartbeat what has changed."""

from __future__ import annotations

from groupmock.rig.consumer_member import ConsumerMember
from groupmock.rig.epoch_member import LEAVING
from groupmock_codec.error_codes import FENCED_MEMBER_EPOCH
from groupmock_codec.messages.k68_consumer_group_heartbeat import Assignment, ConsumerGroupHeartbeatResponse, TopicPartitions

OWNED = [TopicPartitions(topic_id=bytes(16), partitions=[1])]


def test_a_member_that_joins_says_everything_and_later_what_has_changed() -> None:
    member = ConsumerMember("g", "m", topics=["b", "a"], rebalance_ms=5000)
    joins = member.heartbeat_request()
    assert (joins.member_epoch, joins.subscribed_topic_names) == (0, ["a", "b"])
    assert (joins.rebalance_timeout_ms, joins.topic_partitions) == (5000, [])
    assert member.heartbeat_request() == joins, "the first may be lost"
    assert member.told(ConsumerGroupHeartbeatResponse(member_epoch=3, assignment=Assignment(topic_partitions=OWNED))) == 0
    beats = member.heartbeat_request()
    assert (beats.member_epoch, beats.subscribed_topic_names, beats.rebalance_timeout_ms, beats.topic_partitions) == (3, None, -1, None)
    member.topics = ["a"]
    assert member.heartbeat_request(member.assigned) == ConsumerMember("g", "m").heartbeat_request(
        OWNED, member_epoch=3, subscribed_topic_names=["a"], rebalance_timeout_ms=-1
    )
    assert member.leave_request().member_epoch == LEAVING


def test_a_fenced_member_joins_again_with_all_that_it_says() -> None:
    member = ConsumerMember("g", "m", topics=["a"])
    member.heartbeat_request()
    member.told(ConsumerGroupHeartbeatResponse(member_epoch=3, assignment=Assignment(topic_partitions=OWNED)))
    assert member.told(ConsumerGroupHeartbeatResponse(error_code=FENCED_MEMBER_EPOCH)) == FENCED_MEMBER_EPOCH
    assert (member.epoch, member.assigned) == (3, OWNED)
    member.forget()
    again = member.heartbeat_request()
    assert (again.member_epoch, again.subscribed_topic_names, member.assigned) == (0, ["a"], None)
