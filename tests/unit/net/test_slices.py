"""Long work yields to other requests after a counted number of steps, with a counting clock and a loop that the test turns. What a peer
sees between two steps, and that a replay sees the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from rig_journal import never
from transaction_asks import adds, comes
from turned_loop import Loop

from groupmock.journal.file import FileSink
from groupmock.net.slices import Slices
from groupmock.rig import Wire, WireRig
from groupmock.rig.replay import replay
from groupmock.rig.wire import read_response, request
from groupmock_codec.error_codes import INVALID_TXN_STATE, NONE, TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest
from groupmock_codec.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

A_SLICE: Final = 5
WIDE: Final = 100
MANY: Final = 3
"""Number of offsets that are committed in steps for each partition of `wide`."""
BUSY: Final = 51
SETTINGS: Final = {
    "group.consumer.session.timeout.ms": 10_000,
    "offsets.retention.check.interval.ms": 30_000,
    "offsets.retention.minutes": 1,
}


class Sliced:
    """A server with the topics `orders` (one partition) and `wide`, whose slices have five steps."""

    def __init__(self, path: Path) -> None:
        self.path, self.loop, self._ticks = path, Loop(), count(0)
        slices = Slices(A_SLICE, lambda: next(self._ticks) * 1000, self.loop.soon)
        told = [FileSink(str(path), never)]
        self.rig = WireRig.make(topics={"orders": 1, "wide": WIDE}, settings=SETTINGS, seed=5, sinks=told, slices=slices)
        self.cluster = self.rig.core.cluster

    def turns(self) -> int:
        """Run the loop until nothing is scheduled and return the number of turns."""
        taken = 0
        while self.loop.ordered:
            self.loop.turn()
            taken += 1
        return taken

    def state(self, name: str) -> str:
        known = self.cluster.transactions.find(name)
        assert known is not None
        return str(known.state)

    def marked(self) -> int:
        """Return the number of partitions of `wide` that contain a record or marker."""
        return sum(partition.end > 0 for partition in self.cluster.topics.require("wide").partitions)


@pytest.fixture
def sliced(tmp_path: Path) -> Iterator[Sliced]:
    """Yield a server; afterwards check that its journal replays to the last row and that no work is waiting."""
    made = Sliced(tmp_path / "sliced.jsonl")
    yield made
    made.turns()
    assert made.cluster.environment.busy == []
    made.rig.close()
    assert made.rig.driver.counters.internal_errors == 0
    assert replay(made.path).difference is None


def open_wide(wire: Wire, name: str, partitions: int = WIDE) -> Any:
    given = wire.ask(22, 4, comes(name))
    wire.ask(24, 3, adds(name, given, *range(partitions), topic="wide"))
    return given


def end(wire: Wire, name: str, given: Any, committed: bool = True) -> int:
    ends = EndTxnRequest(transactional_id=name, producer_id=given.producer_id, producer_epoch=given.producer_epoch, committed=committed)
    return int(wire.ask(26, 3, ends).error_code)


def fetched(group: str, *partitions: int, topic: str = "wide") -> bytes:
    """Return an OffsetFetch as bytes."""
    wanted = [OffsetFetchRequestTopics(name=topic, partition_indexes=list(partitions))]
    return request(9, 8, OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=wanted)]))


def committed(wire: Wire) -> list[int]:
    """Return the offsets in the answer to OffsetFetch, or an empty list if it has not arrived."""
    frames = wire.take()
    if not frames:
        return []
    answer: Any = read_response(9, 8, frames[0])[1]
    return [partition.committed_offset for partition in answer.groups[0].topics[0].partitions]


def commit(group: str, topic: str, *partitions: int, offset: int = 1, times: int = 1) -> bytes:
    """Return an OffsetCommit without a member that names each partition so many times, as bytes."""
    places = [OffsetCommitRequestPartition(partition_index=index, committed_offset=offset) for index in partitions]
    return request(8, 6, OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=places * times)]))


def opens(wire: Wire, name: str, group: str, given: Any = None) -> Any:
    """Begin a transaction with offsets of the group, for the given producer or a new one."""
    given = given or wire.ask(22, 4, comes(name))
    assert wire.ask(25, 3, AddOffsetsToTxnRequest(**_who(name, group, given))).error_code == 0
    return given


def pended(name: str, group: str, given: Any, offset: int = 7, times: int = 1) -> bytes:
    """Return a TxnOffsetCommit that names each partition of `wide` so many times, as bytes."""
    places = [TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset) for index in range(WIDE)]
    topics = [TxnOffsetCommitRequestTopic(name="wide", partitions=places * times)]
    return request(28, 3, TxnOffsetCommitRequest(**_who(name, group, given), topics=topics))


def _who(name: str, group: str, given: Any) -> dict[str, Any]:
    return {"transactional_id": name, "producer_id": given.producer_id, "producer_epoch": given.producer_epoch, "group_id": group}


def pend(wire: Wire, name: str, group: str) -> Any:
    """Begin a transaction with an offset of the group for each partition of `wide`."""
    given = opens(wire, name, group)
    wire.send(pended(name, group, given))
    wire.take()
    return given


def test_markers_of_a_large_transaction_leave_room_for_others(sliced: Sliced) -> None:
    producer, other = sliced.rig.connect(), sliced.rig.connect()
    given = open_wide(producer, "large")
    assert end(producer, "large", given) == 0
    assert (sliced.marked(), sliced.state("large")) == (A_SLICE, "PrepareCommit")
    assert (
        producer.ask(24, 3, adds("large", given, 0, topic="wide"))
        .results_by_topic_v3_and_below[0]
        .results_by_partition[0]
        .partition_error_code
        == BUSY
    ), "as on Kafka, while markers are under way"
    small = open_wide(other, "small", 2)
    assert end(other, "small", small) == 0
    sliced.loop.turn()
    assert sliced.marked() == 2 * A_SLICE, "each turn of the loop has one slice"
    assert sliced.turns() >= WIDE // A_SLICE - 3
    assert (sliced.marked(), sliced.state("large"), sliced.state("small")) == (WIDE, "CompleteCommit", "CompleteCommit")


def test_a_small_transaction_is_over_before_anything_else_happens(sliced: Sliced) -> None:
    producer = sliced.rig.connect()
    given = open_wide(producer, "small", 2)
    assert (end(producer, "small", given), sliced.state("small"), sliced.loop.ordered) == (0, "CompleteCommit", [])


def test_transactions_that_time_out_together_share_the_time(sliced: Sliced) -> None:
    producer = sliced.rig.connect()
    for number in range(20):
        open_wide(producer, f"t{number}", 30)
    sliced.rig.sleep(70_000)
    assert sliced.rig.connect().ask(18, 0).api_keys
    assert sliced.loop.ordered and sliced.state("t19") != "CompleteAbort"
    ended = []
    while sliced.loop.ordered:
        sliced.loop.turn()
        ended.append(sum(sliced.state(f"t{number}") == "CompleteAbort" for number in range(20)))
    assert ended[-1] == 20 and ended[len(ended) // 2] == 0, "none is done long before the others"


def test_a_coordinator_that_goes_amid_its_markers_leaves_the_rest_to_the_next(sliced: Sliced) -> None:
    producer = sliced.rig.connect()
    end(producer, "large", open_wide(producer, "large"))
    sliced.rig.command("move_transaction_coordinator", transactional_id="large", node=1, loading_ms=1000)
    sliced.turns()
    assert sliced.marked() == A_SLICE
    sliced.rig.sleep(1000)
    sliced.turns()
    assert (sliced.marked(), sliced.state("large")) == (WIDE, "CompleteCommit")


def test_requests_that_name_a_group_wait_for_its_offsets_in_order_and_others_do_not(sliced: Sliced) -> None:
    producer, first, second, other = (sliced.rig.connect() for _ in range(4))
    given = pend(producer, "p", "g")
    assert end(producer, "p", given) == 0
    first.send(fetched("g", 0, WIDE - 1))
    second.send(commit("g", "wide", 0, offset=9) + fetched("g", 0))
    other.send(fetched("h", 0))
    assert (committed(first), second.take(), committed(other)) == ([], [], [-1])
    sliced.turns()
    assert committed(first) == [7, 7], "it came before the commit"
    assert [len(second.take()), sliced.state("p")] == [2, "CompleteCommit"]
    other.send(fetched("g", 0))
    assert committed(other) == [9]


def test_a_commit_of_many_offsets_leaves_room_for_others_and_its_group_waits(sliced: Sliced) -> None:
    committer, same, other = (sliced.rig.connect() for _ in range(3))
    committer.send(commit("g", "wide", *range(WIDE), times=MANY, offset=5))
    same.send(fetched("g", 0))
    other.send(commit("h", "wide", 0))
    assert (committer.take(), committed(same), len(other.take())) == ([], [], 1)
    sliced.turns()
    assert (len(committer.take()), committed(same)) == (1, [5])


def test_a_transaction_that_ends_amid_a_commit_of_it_has_nothing_of_that(sliced: Sliced) -> None:
    producer, other = sliced.rig.connect(), sliced.rig.connect()
    given = opens(producer, "p", "g")
    producer.send(pended("p", "g", given, times=MANY))
    assert producer.take() == [] and end(other, "p", given) == 0
    sliced.turns()
    answer: Any = read_response(28, 3, producer.take()[0])[1]
    assert {partition.error_code for partition in answer.topics[0].partitions} == {INVALID_TXN_STATE}, "as if it had come after the end"
    logs = sliced.cluster.topics.require("__consumer_offsets").partitions
    assert [log.stable() == log.end for log in logs] == [True] * len(logs), "nothing of it stands behind the marker"
    other.send(fetched("g", *range(WIDE)))
    assert committed(other) == [-1] * WIDE


def test_a_commit_of_the_next_transaction_waits_until_the_offsets_of_the_last_are_the_groups(sliced: Sliced) -> None:
    producer, late = sliced.rig.connect(), sliced.rig.connect()
    given = pend(producer, "p", "g")
    late.send(pended("p", "g", given, offset=8, times=MANY))
    assert end(producer, "p", given) == 0
    while sliced.state("p") != "CompleteCommit":
        sliced.loop.turn()
    opens(producer, "p", "g", given)
    assert late.take() == []
    sliced.turns()
    group = sliced.cluster.groups.find("g")
    assert group is not None and len(late.take()) == 1
    assert [len(group.offsets.unstable), {each.offset for each in group.offsets.values()}] == [WIDE, {7}]
    assert end(producer, "p", given) == 0
    sliced.turns()
    assert {each.offset for each in group.offsets.values()} == {8}


@pytest.mark.parametrize("transactional", [False, True])
def test_a_topic_that_goes_amid_a_commit_takes_its_offsets(sliced: Sliced, transactional: bool) -> None:
    committer, other = sliced.rig.connect(), sliced.rig.connect()
    plain = commit("g", "wide", *range(WIDE), times=MANY)
    committer.send(pended("p", "g", opens(committer, "p", "g"), times=MANY) if transactional else plain)
    assert committer.take() == []
    other.ask(20, 5, DeleteTopicsRequest(topic_names=["wide"], timeout_ms=1000))
    sliced.turns()
    assert len(committer.take()) == 1
    assert all(not group.offsets and not group.offsets.unstable for group in sliced.cluster.groups.all())


def test_a_coordinator_that_goes_amid_a_commit_has_finished_it(sliced: Sliced) -> None:
    committer, second = sliced.rig.connect(), sliced.rig.connect()
    committer.send(commit("g", "wide", *range(WIDE), times=MANY, offset=5))
    second.send(commit("g", "wide", *range(WIDE), times=MANY, offset=6))
    sliced.rig.command("move_coordinator", group="g", node=1, loading_ms=1000)
    assert (len(committer.take()), len(second.take())) == (1, 1), "the second waited for the first"
    sliced.rig.sleep(1000)
    committer.send(fetched("g", WIDE - 1))
    assert committed(committer) == [6]


def test_a_command_finds_no_group_in_the_midst_of_something(sliced: Sliced) -> None:
    producer, waiting = sliced.rig.connect(), sliced.rig.connect()
    end(producer, "p", pend(producer, "p", "g"))
    waiting.send(fetched("g", 0))
    sliced.rig.command("create_topic", name="new")
    assert committed(waiting) == [7]
    assert sliced.cluster.environment.busy == []


def new_topics(*names: str) -> CreateTopicsRequest:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics=topics, timeout_ms=1000)


def codes(wire: Wire, key: int, version: int) -> set[int]:
    """Return the error codes of the topics in the answer, or an empty set if it has not arrived."""
    answers: list[Any] = [read_response(key, version, frame)[1] for frame in wire.take()]
    return {topic.error_code for answer in answers for topic in (answer.responses if key == 20 else answer.topics)}


def test_topics_of_one_request_are_made_one_by_one_and_what_else_the_controller_is_asked_waits(sliced: Sliced) -> None:
    creator, again, remover, other = (sliced.rig.connect() for _ in range(4))
    names = [f"t{number}" for number in range(30)]
    creator.send(request(19, 5, new_topics(*names)))
    again.send(request(19, 5, new_topics(names[-1])))
    remover.send(request(20, 5, DeleteTopicsRequest(topic_names=names, timeout_ms=1000)))
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in (names[0], names[-1])], allow_auto_topic_creation=False)
    first, last = other.ask(3, 4, asked).topics
    assert (first.error_code, last.error_code) == (NONE, UNKNOWN_TOPIC_OR_PARTITION), "it is made later, one by one"
    assert (codes(creator, 19, 5), codes(again, 19, 5), codes(remover, 20, 5)) == (set(), set(), set())
    sliced.turns()
    assert codes(creator, 19, 5) == {NONE}
    assert codes(again, 19, 5) == {TOPIC_ALREADY_EXISTS}
    assert codes(remover, 20, 5) == {NONE}
    assert sliced.cluster.topics.names() == ["orders", "wide"]


def test_a_topic_that_a_metadata_makes_amid_a_request_for_it_exists_already(sliced: Sliced) -> None:
    creator, other = sliced.rig.connect(), sliced.rig.connect()
    names = [f"t{number}" for number in range(30)]
    creator.send(request(19, 5, new_topics(*names)))
    other.ask(3, 4, MetadataRequest(topics=[MetadataRequestTopic(name=names[-1])], allow_auto_topic_creation=True))
    made = sliced.cluster.topics.topic_id(names[-1])
    sliced.turns()
    (answer,) = creator.take()
    rows: Any = read_response(19, 5, answer)[1]
    assert [topic.error_code for topic in rows.topics] == [NONE] * 29 + [TOPIC_ALREADY_EXISTS]
    assert made is not None and sliced.cluster.topics.topic_id(names[-1]) == made


def test_a_command_finds_no_request_to_the_controller_half_done(sliced: Sliced) -> None:
    creator = sliced.rig.connect()
    creator.send(request(19, 5, new_topics(*(f"t{number}" for number in range(30)))))
    sliced.rig.command("delete_topic", name="t29")
    assert codes(creator, 19, 5) == {NONE}
    assert sliced.cluster.topics.count == 2 + 29


def test_offsets_of_a_deleted_topic_go_group_by_group_and_a_new_topics_commit_stays(sliced: Sliced) -> None:
    committer, late = sliced.rig.connect(), sliced.rig.connect()
    for number in range(30):
        committer.send(commit(f"g{number}", "orders", 0))
    committer.take()
    committer.ask(20, 5, DeleteTopicsRequest(topic_names=["orders"], timeout_ms=1000))
    committer.ask(19, 5, new_topics("orders"))
    late.send(commit("g29", "orders", 0, offset=4))
    assert late.take() == [] and sliced.loop.ordered
    sliced.turns()
    late.take()
    left = {group.group_id: [each.offset for each in group.offsets.values()] for group in sliced.cluster.groups.all()}
    assert left == {f"g{number}": [4] if number == 29 else [] for number in range(30)}


def test_sessions_that_end_together_let_requests_in_between(sliced: Sliced) -> None:
    wire, seen = sliced.rig.connect(), []
    for number in range(30):
        beat = ConsumerGroupHeartbeatRequest(
            group_id=f"g{number}",
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=5000,
            subscribed_topic_names=["orders"],
            topic_partitions=[],
        )
        wire.ask(68, 0, beat)
    expire = sliced.rig.driver.expire

    def watched(now: int) -> None:
        expire(now)
        seen.append(sum(bool(group.members) for group in sliced.cluster.groups.all()))

    sliced.rig.driver.expire = watched  # type: ignore[method-assign]  # how many are left after each call
    sliced.rig.sleep(20_000)
    assert [before - after for before, after in zip([30, *seen], seen, strict=False)][: 30 // A_SLICE] == [A_SLICE] * (30 // A_SLICE)


def subscribed(member: str, regex: str) -> bytes:
    """Return a ConsumerGroupHeartbeat as bytes with which the member joins `g` with this expression."""
    beat = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=member, member_epoch=0, rebalance_timeout_ms=5000, subscribed_topic_regex=regex, topic_partitions=[]
    )
    return request(68, 1, beat)


def test_expressions_are_resolved_one_by_one_against_the_topics_that_there_were(sliced: Sliced) -> None:
    members, late, other = (sliced.rig.connect() for _ in range(3))
    members.send(b"".join(subscribed(f"m{number}", f"ord.*|{number}") for number in range(2 * A_SLICE)))
    sliced.rig.sleep(1)
    late.send(subscribed("late", "w.*"))
    assert (len(members.take()), late.take()) == (2 * A_SLICE, [])
    other.ask(19, 5, new_topics("ordnew"))
    group: Any = sliced.cluster.groups.find("g")
    assert group.resolved == {} and group.state == "Stable"
    sliced.turns()
    assert [resolved.topics for resolved in group.resolved.values()] == [{"orders"}] * 2 * A_SLICE
    assert len(late.take()) == 1 and group.last_resolved().made < sliced.cluster.topics.made, "it is looked at again, ten seconds later"


def test_old_offsets_of_many_groups_go_in_slices(sliced: Sliced) -> None:
    wire = sliced.rig.connect()
    for number in range(40):
        wire.send(commit(f"g{number}", "orders", 0))
    wire.take()
    sliced.rig.sleep(30_000)
    sliced.turns()
    sliced.rig.sleep(30_000)
    assert 0 < sum(1 for _ in sliced.cluster.groups.all()) < 40 and sliced.loop.ordered
    sliced.turns()
    assert list(sliced.cluster.groups.all()) == []
