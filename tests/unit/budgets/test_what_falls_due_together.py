"""Work that falls due together, or follows from one request, is done in steps, each of which is cheap however much there is: the state
has consumer groups, open transactions, a ring of rows and a log that follows. Each step is counted with what is done with its effects,
rows and lines of the log among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from transaction_asks import adds, comes

from groupmock.journal.ring import Ring
from groupmock.rig import Wire, WireRig
from groupmock.rig.wire import request
from groupmock.watch.log import LogSink
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest
from groupmock_codec.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from groupmock_codec.records import NewRecord, encode_batch
from tools.budgets.meter import STEPS_PER_MS, StepMeter

MANY: Final = 300
A_STEP: Final = STEPS_PER_MS // 2
"""Lines of one step, half a millisecond: a slice is over soon after its time then."""
MOST_COMMITTED: Final = 5_400
"""About as many partitions as one TxnOffsetCommit may have by its price."""
A_PASS: Final = 3 * STEPS_PER_MS
"""Lines of the step that decides on all of these and stores them, which is one."""
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 0,
    "group.consumer.session.timeout.ms": 40_000,
    "offsets.retention.minutes": 1,
    "offsets.retention.check.interval.ms": 600_000,
}


class Crowd:
    """A cluster with a crowd of groups. `wire` is that of a peer that did all of it and goes on."""

    def __init__(self) -> None:
        self.slices = StepMeter()
        log = LogSink("text")
        log.load()
        sinks = [Ring(), log]
        self.rig = WireRig.make(topics={"orders": 1, "wide": MANY}, settings=SETTINGS, sinks=sinks, slices=self.slices)
        self.wire = self.rig.connect()
        for number in range(MANY // 10):
            self.beat(f"regex{number}", "m", regex="ord.*")
            self.transaction(f"open{number}", 1, 800_000)
        self.done()

    def done(self) -> None:
        """All that was begun is."""
        while self.slices.waiting:
            self.rig.driver.work_on()

    def sleep(self, ms: int) -> None:
        self.rig.sleep(ms)
        self.done()

    def send(self, key: int, version: int, message: Any, wire: Wire | None = None) -> None:
        (wire or self.wire).send(request(key, version, message))
        self.done()

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
        """A transaction with so many offsets of `g` for each partition of `wide`."""
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
        crowd.send(19, 5, CreateTopicsRequest(topics=[topic], timeout_ms=1000))
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
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_no_step_costs_more_than_its_budget(case: Callable[[Crowd], Act]) -> None:
    crowd = Crowd()
    act = case(crowd)
    crowd.slices.begin_anew()
    act(crowd)
    assert not crowd.rig.driver.counters.internal_errors
    assert 0 < crowd.slices.dearest <= min(A_STEP, crowd.slices.whole // 4)


@pytest.mark.parametrize("case", [many_offsets_are_committed_by_one_request, many_offsets_are_committed_in_a_transaction])
def test_a_commit_of_many_offsets_is_done_in_steps(case: Callable[[Crowd], Act]) -> None:
    crowd = Crowd()
    crowd.slices.begin_anew()
    case(crowd)(crowd)
    assert not crowd.rig.driver.counters.internal_errors
    assert 0 < crowd.slices.dearest <= A_PASS < crowd.slices.whole // 3
