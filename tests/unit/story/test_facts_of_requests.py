"""Stories of requests tell what was true when the request was handled, however late its answer came."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from typing import Any

from cases import for_each
from kitchen_of_two import TwoMembers

from groupmock.journal.rows import CommandRow, ReplyRow, RequestRow, Row
from groupmock.rig.kept_rows import KeptRows
from groupmock.story.sentences import sentence
from groupmock.story.telling import tell
from groupmock.watch.levels import level_of
from groupmock_codec.api_keys import ADD_OFFSETS_TO_TXN, END_TXN, FETCH, HEARTBEAT, INIT_PRODUCER_ID, OFFSET_DELETE
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.messages.k47_offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tools.mistakes.stage import Consumer, Stage

OFFSETS, PENDING, CONSUMER_BEAT = 9, 28, 68


def lines(rows: Iterable[Row], **how: Any) -> list[tuple[float, str]]:
    """Return the times and texts of the story's lines."""
    found = [re.fullmatch(r" +([0-9.]+)  (.*)", line) for line in tell(rows, **how)]
    return [(float(match[1]), match[2]) for match in found if match is not None]


def told(stage: Stage) -> list[str]:
    return [text for _, text in lines(stage.ring.rows)]


def head(stage: Stage, **how: Any) -> str:
    return next(tell(stage.ring.rows, **how))


def fetch(stage: Stage, name: str, wanted: dict[int, int], wait_ms: int = 0, link: str = "data") -> None:
    """Send a Fetch of orders on a separate connection, as stock clients do."""
    partitions = [FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1000) for number, offset in wanted.items()]
    message = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1000, topics=[FetchTopic(topic="orders", partitions=partitions)])
    stage.send(FETCH, 11, message, connection=f"{name}/{link}", client_id=name)


def beat(stage: Stage, member: Consumer) -> None:
    """Send a Heartbeat that may remain unanswered."""
    message = HeartbeatRequest(group_id="kitchen", generation_id=member.generation, member_id=member.member_id)
    stage.send(HEARTBEAT, 3, message, connection=member.client_id, client_id=member.client_id)


def rule(stage: Stage, stage_of: str, api: str, do: dict[str, Any]) -> None:
    rules = [{"name": "slow", "stage": stage_of, "when": {"api": api}, "do": do, "times": 1}]
    stage.rig.command("add_faults", rules=rules, origin="the test")


class Till(Stage):
    """Starts a group of Anna alone, and a transactional producer with an open transaction that contains her offset."""

    def __init__(self) -> None:
        super().__init__({"orders": 1})
        self.anna = self.consumer("anna")
        self.together(self.anna)
        self.producer = self._ask(INIT_PRODUCER_ID, 4, InitProducerIdRequest(transactional_id="till", transaction_timeout_ms=60_000))
        self._ask(ADD_OFFSETS_TO_TXN, 3, AddOffsetsToTxnRequest(transactional_id="till", **self._who(), group_id="kitchen"))
        topics = [
            TxnOffsetCommitRequestTopic(
                name="orders", partitions=[TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=7, committed_metadata="")]
            )
        ]
        place: dict[str, Any] = {"group_id": "kitchen", "generation_id": self.anna.generation, "member_id": self.anna.member_id}
        self._ask(PENDING, 3, TxnOffsetCommitRequest(transactional_id="till", **self._who(), **place, topics=topics))

    def end(self, committed: bool) -> None:
        self._ask(END_TXN, 3, EndTxnRequest(transactional_id="till", **self._who(), committed=committed))
        self.sleep(0)

    def _who(self) -> dict[str, Any]:
        return {"producer_id": self.producer.producer_id, "producer_epoch": self.producer.producer_epoch}

    def _ask(self, key: int, version: int, message: Any) -> Any:
        answer = self.ask(key, version, message, connection="anna/till", client_id="anna")
        assert not answer.error_code if hasattr(answer, "error_code") else answer
        return answer


# -- Fetch


def test_a_fetch_that_waits_is_told_when_it_was_asked_and_not_for_partitions_that_were_lost_meanwhile() -> None:
    stage = Stage({"orders": 2})
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    stage.together(anna)
    fetch(stage, "anna", {0: 0, 1: 0}, wait_ms=10_000)
    asked = stage.rig.clock.now() / 1e9
    ben.join()
    anna.beat()
    stage.together(anna, waiting=[ben])
    stage.sleep(20_000)
    found = [line for line in lines(stage.ring.rows) if "begins to read" in line[1]]
    assert found == [(round(asked, 3), "anna#017f begins to read at orders/0-1 = 0")]


def test_a_member_begins_to_read_what_it_has_and_each_partition_once() -> None:
    stage = TwoMembers()
    fetch(stage, "anna", {0: 0, 1: 0})  # The partition orders/1 belongs to ben.
    stage.sleep(10)
    fetch(stage, "anna", {0: 5, 2: 3})
    fetch(stage, "cleo", {0: 0})  # The client cleo is not a member.
    assert [text for text in told(stage) if "begins" in text] == [
        "anna#017f begins to read at orders/0 = 0, orders/2 = 3 (until 6.010)",
    ]


def test_of_two_members_with_one_client_id_the_owner_begins_to_read() -> None:
    stage = Stage({"orders": 2})
    one, two = (stage.consumer("anna") for _ in range(2))
    two._send = lambda key, message: stage.send(key, 5 if key == 11 else 3, message, connection="anna/2", client_id="anna")  # type: ignore[method-assign]
    stage.together(one, two)
    fetch(stage, "anna", {0: 0, 1: 0})
    begins = [text for text in told(stage) if "begins" in text]
    assert sorted(begins) == sorted(
        f"anna#{member.member_id.removeprefix('anna-')[:4]} begins to read at orders/{member.assignment[0][1]} = 0" for member in (one, two)
    )


# -- what was committed


@for_each("committed", [True, False])
def test_offsets_of_a_transaction_count_when_it_is_committed(committed: bool) -> None:
    stage = Till()
    assert "anna#017f puts orders/0 = 7 into its transaction" in told(stage)
    assert head(stage).endswith(", nothing committed")
    stage.end(committed)
    lasts = [text for text in told(stage) if text.startswith("the transaction of producer")]
    if committed:
        assert lasts == ["the transaction of producer 0 was committed: orders/0 = 7 is the group's now"]
        assert head(stage).endswith(", committed orders/0 = 7")
    else:
        assert lasts == ["the transaction of producer 0 was aborted: what it committed is dropped (0 of the group's offsets are new)"]
        assert head(stage).endswith(", nothing committed")


def test_a_plain_commit_after_that_of_a_transaction_stands() -> None:
    stage = Till()
    stage.anna.commit({("orders", 0): 3})
    stage.sleep(0)
    stage.end(committed=True)
    assert head(stage).endswith(", committed orders/0 = 3")


def test_the_first_line_knows_a_group_that_was_there_before_its_members() -> None:
    stage = Stage({"orders": 1})
    stage.rig.command("commit_offsets", group="kitchen", offsets=[{"topic": "orders", "partition": 0, "offset": 4}])
    assert head(stage) == "kitchen: Empty, generation 0, 0 members, committed orders/0 = 4"
    stage.together(stage.consumer("anna"))
    assert head(stage) == "kitchen: Stable, generation 1, range, 1 member (anna#017f leads), committed orders/0 = 4"
    assert not [text for text in told(stage) if "the group is new" in text]


def test_offsets_that_are_deleted_or_reset_are_not_told_as_committed() -> None:
    stage = Stage({"orders": 2, "bills": 1})
    offsets = [{"topic": topic, "partition": number, "offset": 4} for topic, number in (("orders", 0), ("orders", 1), ("bills", 0))]
    stage.rig.command("commit_offsets", group="kitchen", offsets=offsets)
    stage.rig.command("delete_topic", name="bills")
    partitions = [OffsetDeleteRequestPartition(partition_index=1)]
    asked = OffsetDeleteRequest(group_id="kitchen", topics=[OffsetDeleteRequestTopic(name="orders", partitions=partitions)])
    stage.ask(OFFSET_DELETE, 0, asked, connection="admin", client_id="admin")
    assert head(stage) == "kitchen: Empty, generation 0, 0 members, committed orders/0 = 4"
    stage.rig.command("reset_offsets", group="kitchen", topic="orders", to="latest")
    assert head(stage) == "kitchen: Empty, generation 0, 0 members, committed offsets unknown"


def test_offsets_that_were_committed_before_the_rows_begin_make_the_first_line_unknown() -> None:
    stage = Stage({"orders": 1})
    stage.rig.command("commit_offsets", group="kitchen", offsets=[{"topic": "orders", "partition": 0, "offset": 4}])
    anna = stage.consumer("anna")
    stage.together(anna)
    anna.committed()
    rows = [row for row in stage.ring.rows if not isinstance(row, CommandRow)]
    assert next(tell(rows)).endswith(", committed offsets unknown")


def test_offsets_of_another_group_in_the_same_answer_are_not_this_groups() -> None:
    """One OffsetFetch of an administrator may return the offsets of several groups (KIP-709), and a story tells only those of its own
    group."""
    stage = TwoMembers()
    stage.rig.command("commit_offsets", group="cellar", offsets=[{"topic": "orders", "partition": 0, "offset": 4}])
    wanted = [OffsetFetchRequestTopics(name="orders", partition_indexes=[0])]
    groups = [OffsetFetchRequestGroup(group_id=group, topics=wanted) for group in ("kitchen", "cellar")]
    stage.ask(OFFSETS, 8, OffsetFetchRequest(groups=groups), connection="admin", client_id="admin")
    assert "admin (no member) finds committed: nothing for orders/0" in told(stage)


# -- faults


def test_an_error_that_a_rule_made_is_said_to_be_the_rules() -> None:
    stage = TwoMembers()
    rule(stage, "request", "OffsetCommit", {"kind": "error", "code": "ILLEGAL_GENERATION"})
    stage.anna.commit({("orders", 0): 1})
    stage.sleep(0)
    assert told(stage)[-1] == "anna#017f's commit of orders/0 = 1 REFUSED: ILLEGAL_GENERATION (fault rule slow made it)"
    assert head(stage).endswith(", nothing committed")


def test_an_error_beside_the_one_that_a_rule_made_is_the_groups() -> None:
    stage = TwoMembers()
    when = {"api": "OffsetCommit", "topic": "orders", "partition": 1}
    do = {"kind": "error", "code": "COORDINATOR_LOAD_IN_PROGRESS"}
    stage.rig.command("add_faults", rules=[{"name": "part", "when": when, "do": do}], origin="the test")
    stage.anna.commit({("orders", 0): 1, ("orders", 1): 1}, generation=1)
    stage.sleep(0)
    assert "anna#017f's commit of orders/1 = 1 REFUSED: COORDINATOR_LOAD_IN_PROGRESS (fault rule part made it)" in told(stage)
    assert "anna#017f's commit of orders/0 = 1 REFUSED: ILLEGAL_GENERATION (it says generation 1, it is 2)" in told(stage)


def test_whether_a_commit_counts_whose_answer_a_rule_replaced_is_unknown() -> None:
    stage = TwoMembers()
    rule(stage, "reply", "OffsetCommit", {"kind": "error", "code": "ILLEGAL_GENERATION"})
    stage.anna.commit({("orders", 0): 1})
    stage.sleep(0)
    assert head(stage).endswith(", committed offsets unknown")


@for_each("where", ["request", "reply"])
def test_a_commit_that_a_rule_delays_is_told_when_it_was_handled(where: str) -> None:
    """Ben continues meanwhile, so the generation in which anna had the partition is over when her commit is answered."""
    stage = TwoMembers()
    rule(stage, where, "OffsetCommit", {"kind": "delay", "seconds": 20})
    stage.anna.commit({("orders", 0): 5})
    at = stage.rig.clock.now() / 1e9
    stage.sleep(1000)
    stage.ben.commit({("orders", 1): 1})
    stage.sleep(20_000)
    found = lines(stage.ring.rows)
    times = [time for time, _ in found]
    assert times == sorted(times)
    assert (round(at + (20 if where == "request" else 0), 3), "anna#017f commits orders/0 = 5") in found


def test_a_heartbeat_whose_answer_a_rule_took_is_told_with_its_member() -> None:
    """The ring leaves out requests of heartbeats that changed nothing, so only the answer names the API."""
    stage = TwoMembers()
    rule(stage, "reply", "Heartbeat", {"kind": "drop"})
    beat(stage, stage.anna)
    rows = [row for row in stage.ring.rows if not (isinstance(row, RequestRow) and row.api_name == "Heartbeat")]
    lasts = [text for _, text in lines(rows)][-2:]
    assert lasts == ["fault rule slow strikes anna#017f's Heartbeat: drop", "anna#017f's answer to Heartbeat does not arrive"]


def test_nobody_hears_of_a_rebalance_by_an_answer_that_does_not_arrive() -> None:
    stage = TwoMembers()
    cleo = stage.consumer("cleo")
    cleo.join()
    rule(stage, "reply", "Heartbeat", {"kind": "drop"})
    beat(stage, stage.anna)
    assert not [text for text in told(stage)[-3:] if "hears of it" in text]


def test_an_api_versions_request_that_is_answered_in_version_0_is_no_refusal() -> None:
    """A client newer than its broker starts with an unknown version and falls back (KIP-511)."""
    stage = TwoMembers()
    wire = stage.rig.connect()
    body = struct.pack(">hhih4sB", 18, 99, 1, 4, b"anna", 0)
    wire.send(struct.pack(">i", len(body)) + body)
    asked, answered = list(stage.ring.rows)[-2:]
    assert isinstance(answered, ReplyRow) and answered.error == "UNSUPPORTED_VERSION"
    assert not [text for text in told(stage) if "REFUSED" in text]
    assert (level_of(asked), level_of(answered)) == (None, None)
    assert "REFUSED" not in sentence(answered)


# -- connections


def test_a_client_that_joins_again_by_another_connection_has_not_gone() -> None:
    """kafka-go opens a new connection for each generation."""
    stage = TwoMembers()
    stage.anna.hang_up()
    stage.sleep(100)
    stage.anna.join()
    stage.sleep(10_000)
    stage.ben.beat()
    assert not [text for text in told(stage) if "connection ends" in text]


@for_each("later", ["another member speaks", "its session ends", "no row comes"])
def test_a_client_whose_connection_ends_and_that_is_not_back_is_told(later: str) -> None:
    stage = TwoMembers()
    stage.anna.hang_up()
    at = stage.rig.clock.now() / 1e9
    if later == "another member speaks":
        stage.sleep(5000)
        stage.ben.beat()
    elif later == "its session ends":
        stage.sleep(46_000)
    ends = "anna#017f's connection ends (by the client) and it has not left: the group keeps its partitions until its session expires"
    assert (round(at, 3), f"{ends} (45000 ms)") in lines(stage.ring.rows)


def test_no_group_keeps_partitions_whose_coordinator_stops() -> None:
    stage = TwoMembers()
    stage.rig.command("stop_node", node=1, clean=False)
    assert "anna#017f's connection ends (by the server: node 1 was stopped)" in told(stage)


def test_a_member_of_a_consumer_group_reads_on_when_its_heartbeats_change_their_connection() -> None:
    kept = KeptRows(heartbeats=True)
    stage = Stage({"orders": 2}, sinks=[kept])
    first = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["orders"], "topic_partitions": []}

    def beats(link: str, epoch: int, **more: Any) -> Any:
        message = ConsumerGroupHeartbeatRequest(group_id="kitchen", member_id="anna-and-anna", member_epoch=epoch, **more)
        return stage.ask(CONSUMER_BEAT, 1, message, connection=link, client_id="anna")

    answer = beats("one", 0, **first)
    fetch(stage, "anna", {0: 0, 1: 0})
    stage.sleep(10)
    stage.hang_up("one")
    stage.sleep(10)
    owned = [TopicPartitions(topic_id=each.topic_id, partitions=each.partitions) for each in answer.assignment.topic_partitions]
    assert beats("two", answer.member_epoch, **{**first, "topic_partitions": owned}).assignment is not None
    fetch(stage, "anna", {0: 3, 1: 3})
    stage.sleep(10)
    assert [each for _, each in lines(kept.rows) if "begins" in each] == ["anna#and- begins to read at orders/0-1 = 0"]


@for_each("again", [False, True])
def test_a_member_of_a_classic_group_reads_on_by_another_connection_unless_it_joins_again(again: bool) -> None:
    kept = KeptRows(heartbeats=True)
    stage = Stage({"orders": 2}, sinks=[kept])
    anna = stage.consumer("anna")
    stage.together(anna)
    fetch(stage, "anna", {0: 0, 1: 0})
    stage.sleep(10)
    anna.hang_up()
    stage.sleep(10)
    if again:
        stage.together(anna)
    else:
        beat(stage, anna)
    fetch(stage, "anna", {0: 3, 1: 3})
    stage.sleep(10)
    begun = [f"anna#017f begins to read at orders/0-1 = {offset}" for offset in ((0, 3) if again else (0,))]
    assert [each for _, each in lines(kept.rows) if "begins" in each] == begun
