"""Work that becomes due at once, or follows from one request, is split into steps that stay cheap however large the state is. Each step
is counted with what is done with its effects, rows and lines of the log among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from transaction_asks import adds, comes

from groupmock.journal.ring import Ring
from groupmock.rig import Wire, WireRig
from groupmock.rig.wire import request
from groupmock.watch.log import LogSink
from groupmock_codec import APIS
from groupmock_codec.messages import k44_incremental_alter_configs as k44
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k19_create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest
from groupmock_codec.messages.k21_delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from groupmock_codec.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.messages.k33_alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from groupmock_codec.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from groupmock_codec.records import NewRecord, encode_batch
from tools.budgets.meter import STEPS_PER_MS, StepMeter

MANY: Final = 300
A_STEP: Final = STEPS_PER_MS // 2
"""Number of lines in half a millisecond, so that a slice ends soon after its time is over."""
MOST_COMMITTED: Final = 5_400
"""Roughly the number of partitions that one TxnOffsetCommit may contain within its cost limit."""
A_PASS: Final = 3 * STEPS_PER_MS
"""Number of lines for the single step that validates and stores all these offsets."""
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 0,
    "group.consumer.session.timeout.ms": 40_000,
    "offsets.retention.minutes": 1,
    "offsets.retention.check.interval.ms": 600_000,
}


ALREADY_SPOKEN: Final = ((3, 4), (20, 5), (21, 1), (33, 1), (37, 1), (44, 0))
"""Requests that are sent before the measurement, because the first of each kind imports and compiles modules."""


class Crowd:
    """A cluster with many groups. `wire` is the connection of a client that created them and stays connected."""

    def __init__(self) -> None:
        self.slices = StepMeter()
        log = LogSink("text")
        log.load()
        sinks = [Ring(), log]
        self.rig = WireRig.make(topics={"orders": 1, "wide": MANY}, settings=SETTINGS, sinks=sinks, slices=self.slices)
        self.wire = self.rig.connect()
        for key, version in ALREADY_SPOKEN:
            self.send(key, version, APIS[key].request.message())
        self.make(CreatableTopic(name="first", num_partitions=1, replication_factor=1))
        for number in range(MANY // 10):
            self.beat(f"regex{number}", "m", regex="ord.*")
            self.transaction(f"open{number}", 1, 800_000)
        self.done()

    def done(self) -> None:
        """Run all waiting work to its end."""
        while self.slices.waiting:
            self.rig.driver.work_on()

    def sleep(self, ms: int) -> None:
        self.rig.sleep(ms)
        self.done()

    def send(self, key: int, version: int, message: Any, wire: Wire | None = None) -> None:
        (wire or self.wire).send(request(key, version, message))
        self.done()

    def make(self, *topics: CreatableTopic) -> None:
        self.send(19, 5, CreateTopicsRequest(topics=list(topics), timeout_ms=1000))

    def beat(self, group: str, member: str, regex: str | None = None) -> None:
        names = None if regex else ["orders"]
        self.send(68, 1, ConsumerGroupHeartbeatRequest(
            group_id=group, member_id=member, member_epoch=0, rebalance_timeout_ms=5000, subscribed_topic_names=names,
            subscribed_topic_regex=regex, topic_partitions=[],
        ))  # fmt: skip

    def transaction(self, name: str, partitions: int, timeout_ms: int = 60_000) -> Any:
        given = self.rig.connect().ask(22, 4, comes(name, timeout_ms))
        self.send(24, 3, adds(name, given, *range(partitions), topic="wide"))
        return given

    def pending(self, name: str, times: int = 1) -> Any:
        """Start a transaction with `times` pending offsets of `g` for each partition of `wide`."""
        given = self.rig.connect().ask(22, 4, comes(name))
        who = {"transactional_id": name, "producer_id": given.producer_id, "producer_epoch": given.producer_epoch, "group_id": "g"}
        self.send(25, 3, AddOffsetsToTxnRequest(**who))
        places = [TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=7) for index in range(MANY)]
        self.send(28, 3, TxnOffsetCommitRequest(**who, topics=[TxnOffsetCommitRequestTopic(name="wide", partitions=places * times)]))
        return given

    def commit(self, group: str, topic: str = "orders", partitions: int = 1, times: int = 1) -> None:
        places = [OffsetCommitRequestPartition(partition_index=index, committed_offset=1) for index in range(partitions)]
        self.send(8, 6, OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=places * times)]))

    def end(self, name: str, given: Any) -> None:
        self.send(26, 3, EndTxnRequest(
            transactional_id=name, producer_id=given.producer_id, producer_epoch=given.producer_epoch, committed=True
        ))  # fmt: skip


Act = Callable[[Crowd], object]


def transactions_time_out(crowd: Crowd) -> Act:
    for number in range(MANY // 10):
        crowd.transaction(f"t{number}", 20, 10_000)
    return lambda crowd: crowd.sleep(25_000)


def a_large_transaction_is_fenced(crowd: Crowd) -> Act:
    crowd.transaction("large", MANY)
    return lambda crowd: crowd.send(22, 4, comes("large"))


def many_offsets_become_a_groups(crowd: Crowd) -> Act:
    given = crowd.pending("p")
    return lambda crowd: crowd.end("p", given)


def many_offsets_are_committed_by_one_request(crowd: Crowd) -> Act:
    return lambda crowd: crowd.commit("g", "wide", MANY, times=MOST_COMMITTED // MANY)


def many_offsets_are_committed_in_a_transaction(crowd: Crowd) -> Act:
    return lambda crowd: crowd.pending("p", times=MOST_COMMITTED // MANY)


def sessions_of_many_groups_end(crowd: Crowd) -> Act:
    for number in range(MANY):
        crowd.beat(f"g{number}", "m")
    return lambda crowd: crowd.sleep(50_000)


def sessions_of_one_group_end(crowd: Crowd) -> Act:
    for number in range(MANY // 4):
        crowd.beat("g", f"m{number}")
    return lambda crowd: crowd.sleep(50_000)


def sessions_of_static_members_end(crowd: Crowd) -> Act:
    for number in range(MANY // 4):
        wish = JoinGroupRequest(
            group_id="g", session_timeout_ms=20_000, rebalance_timeout_ms=1000, group_instance_id=f"i{number}", protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(6))],
        )  # fmt: skip
        crowd.send(11, 5, wish, crowd.rig.connect())
    crowd.sleep(5000)
    return lambda crowd: crowd.sleep(40_000)


def offsets_of_many_groups_expire(crowd: Crowd) -> Act:
    for number in range(MANY):
        crowd.commit(f"g{number}")
    crowd.commit("large", "wide", MANY)
    return lambda crowd: crowd.sleep(700_000)


def records_of_many_logs_are_too_old(crowd: Crowd) -> Act:
    batch = encode_batch([NewRecord(None, b"v", timestamp=crowd.rig.clock.epoch_ns // 1_000_000)])
    crowd.rig.command("produce", topic="wide", partitions=list(range(MANY)), batches=batch * MANY)
    return lambda crowd: crowd.sleep(8 * 24 * 3600 * 1000)


def a_topic_of_many_groups_is_deleted(crowd: Crowd) -> Act:
    for number in range(MANY):
        crowd.commit(f"g{number}")
    return lambda crowd: crowd.send(20, 5, DeleteTopicsRequest(topic_names=["orders"], timeout_ms=1000))


def a_topic_with_pending_offsets_is_deleted(crowd: Crowd) -> Act:
    for number in range(4):
        crowd.pending(f"p{number}")
    return lambda crowd: crowd.send(20, 5, DeleteTopicsRequest(topic_names=["wide"], timeout_ms=1000))


def a_topic_is_made_that_many_expressions_match(crowd: Crowd) -> Act:
    for number in range(MANY):
        crowd.beat(f"g{number}", "m", regex="ord.*")
    topic = CreatableTopic(name="ordnew", num_partitions=1, replication_factor=1)

    def make(crowd: Crowd) -> None:
        crowd.make(topic)
        crowd.sleep(5000)

    return make


def expressions_of_a_group_are_resolved(crowd: Crowd) -> Act:
    for number in range(MANY // 10):
        crowd.rig.command("create_topic", name=f"t{number}" + "x" * 200)

    def subscribe(crowd: Crowd) -> None:
        for number in range(2):
            crowd.beat("g", f"m{number}", regex=f"(t|x|[0-9]){{{number},100}}[0-9x]*.{{0,100}}")
        crowd.sleep(11_000)

    return subscribe


def a_topic_grows_that_many_groups_read(crowd: Crowd) -> Act:
    for number in range(MANY):
        crowd.beat(f"g{number}", "m")
    grows = CreatePartitionsTopic(name="orders", count=4, assignments=None)
    return lambda crowd: crowd.send(37, 1, CreatePartitionsRequest(topics=[grows], timeout_ms=1000))


def topics(crowd: Crowd, count: int = MANY // 5) -> list[str]:
    """Create topics with a record each and return their names, which are long."""
    names = [f"t{number}".ljust(249, "x") for number in range(count)]
    batch = encode_batch([NewRecord(None, b"v", timestamp=crowd.rig.clock.epoch_ns // 1_000_000)])
    for name in names:
        crowd.rig.command("create_topic", name=name)
        crowd.rig.command("produce", topic=name, partitions=[0], batches=batch)
    return names


def many_topics_are_made(crowd: Crowd) -> Act:
    made = [CreatableTopic(name=f"t{number}".ljust(249, "x"), num_partitions=1, replication_factor=1) for number in range(MANY // 5)]
    return lambda crowd: crowd.make(*made)


def a_metadata_makes_many_topics(crowd: Crowd) -> Act:
    named = [MetadataRequestTopic(name=f"t{number}") for number in range(MANY // 5)]
    return lambda crowd: crowd.send(3, 4, MetadataRequest(topics=named, allow_auto_topic_creation=True))


def many_topics_grow(crowd: Crowd) -> Act:
    grow = [CreatePartitionsTopic(name=name, count=3, assignments=None) for name in topics(crowd)]
    return lambda crowd: crowd.send(37, 1, CreatePartitionsRequest(topics=grow, timeout_ms=1000))


def many_topics_are_deleted(crowd: Crowd) -> Act:
    names = topics(crowd)
    return lambda crowd: crowd.send(20, 5, DeleteTopicsRequest(topic_names=names, timeout_ms=1000))


def many_partitions_are_made(crowd: Crowd) -> Act:
    return lambda crowd: crowd.make(CreatableTopic(name="new", num_partitions=5 * MANY, replication_factor=1))


def many_partitions_are_assigned(crowd: Crowd) -> Act:
    places = [CreatableReplicaAssignment(partition_index=index, broker_ids=[1]) for index in range(5 * MANY)]
    return lambda crowd: crowd.make(CreatableTopic(name="new", num_partitions=-1, replication_factor=-1, assignments=places))


def a_topic_grows_much(crowd: Crowd) -> Act:
    grow = [CreatePartitionsTopic(name="orders", count=5 * MANY, assignments=None)]
    return lambda crowd: crowd.send(37, 1, CreatePartitionsRequest(topics=grow, timeout_ms=1000))


def configs_of_many_topics_are_replaced(crowd: Crowd) -> Act:
    own = [AlterableConfig(name="retention.ms", value="86400000")]
    wanted = [AlterConfigsResource(resource_type=2, resource_name=name, configs=own) for name in topics(crowd)]
    return lambda crowd: crowd.send(33, 1, AlterConfigsRequest(resources=wanted))


def configs_of_many_topics_are_changed(crowd: Crowd) -> Act:
    own = [k44.AlterableConfig(name="retention.ms", config_operation=0, value="86400000")]
    wanted = [k44.AlterConfigsResource(resource_type=2, resource_name=name, configs=own) for name in topics(crowd)]
    return lambda crowd: crowd.send(44, 0, k44.IncrementalAlterConfigsRequest(resources=wanted))


def a_config_of_the_nodes_changes_what_holds_for_many_topics(crowd: Crowd) -> Act:
    for name in topics(crowd):
        crowd.rig.command("configure_topic", name=name, set={"segment.ms": "86400000"})
    return lambda crowd: crowd.rig.command("configure_node", set={"log.retention.ms": "86400000"})


def records_of_many_partitions_are_deleted(crowd: Crowd) -> Act:
    crowd.rig.command("create_topic", name="wider", partitions=2 * MANY)
    wanted = [DeleteRecordsPartition(partition_index=index, offset=0) for index in range(2 * MANY)]
    asked = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="wider", partitions=wanted)], timeout_ms=1000)
    return lambda crowd: crowd.send(21, 1, asked)


CASES: Final = (
    transactions_time_out,
    a_large_transaction_is_fenced,
    many_offsets_become_a_groups,
    sessions_of_many_groups_end,
    sessions_of_one_group_end,
    sessions_of_static_members_end,
    offsets_of_many_groups_expire,
    records_of_many_logs_are_too_old,
    a_topic_of_many_groups_is_deleted,
    a_topic_with_pending_offsets_is_deleted,
    a_topic_is_made_that_many_expressions_match,
    expressions_of_a_group_are_resolved,
    a_topic_grows_that_many_groups_read,
    many_topics_are_made,
    a_metadata_makes_many_topics,
    many_topics_grow,
    many_topics_are_deleted,
    many_partitions_are_made,
    many_partitions_are_assigned,
    a_topic_grows_much,
    configs_of_many_topics_are_replaced,
    configs_of_many_topics_are_changed,
    a_config_of_the_nodes_changes_what_holds_for_many_topics,
    records_of_many_partitions_are_deleted,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_no_step_costs_more_than_its_budget(case: Callable[[Crowd], Act]) -> None:
    crowd = Crowd()
    act = case(crowd)
    crowd.slices.begin_anew()
    act(crowd)
    crowd.done()
    assert not crowd.rig.driver.counters.internal_errors
    assert 0 < crowd.slices.dearest <= min(A_STEP, crowd.slices.whole // 4)


@pytest.mark.parametrize("case", [many_offsets_are_committed_by_one_request, many_offsets_are_committed_in_a_transaction])
def test_a_commit_of_many_offsets_is_done_in_steps(case: Callable[[Crowd], Act]) -> None:
    crowd = Crowd()
    crowd.slices.begin_anew()
    case(crowd)(crowd)
    assert not crowd.rig.driver.counters.internal_errors
    assert 0 < crowd.slices.dearest <= A_PASS < crowd.slices.whole // 3
