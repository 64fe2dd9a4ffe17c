"""Transactional ids and their coordinator answer as Apache Kafka does (docs/kafka/transactions.md, TX-05 to TX-58, TX-67 to TX-69, TX-91
to TX-97)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cases import for_each
from log_world import WALL_MS, batch, shown
from transaction_world import NOBODY, Pid, TransactionWorld

from groupmock.core.java.hashes import partition_for
from groupmock.core.transactions.producer_ids import ProducerIds
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from groupmock_codec.messages.k27_write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from groupmock_codec.messages.k66_list_transactions import ListTransactionsRequest

LAST: Final = 32_766
HOUR_MS: Final = 3_600_000


def at_epoch(world: TransactionWorld, epoch: int) -> Pid:
    """Set the epoch of `x` directly, which would otherwise take thousands of requests."""
    pid = world.init()
    known = world.cluster.transactions.find("x")
    assert known is not None
    known.epoch = epoch
    return Pid(pid.id, epoch)


# -- FindCoordinator: TX-05 to TX-09


def test_an_id_lives_where_its_hash_says() -> None:
    """The partition is abs(hashCode) mod 50 over UTF-16 units, and the node is 1 + partition mod nodes."""
    world = TransactionWorld(nodes=3)
    found = {name: world.coordinator(name).node_id for name in ("x", "", "a-longer-one", "ünïcode", "\N{GRINNING FACE}")}
    assert found == {name: 1 + partition_for(name, 50) % 3 for name in found}


def test_from_v4_on_keys_are_answered_one_by_one() -> None:
    answer = TransactionWorld().ask(10, 4, FindCoordinatorRequest(key_type=1, coordinator_keys=["a", "b", "a"]))
    assert [(each.key, each.error_code, each.error_message) for each in answer.coordinators] == [(key, 0, "") for key in "aba"]
    assert TransactionWorld().ask(10, 4, FindCoordinatorRequest(key_type=1)).coordinators == []


def test_the_topic_of_transactions_is_internal() -> None:
    world = TransactionWorld()
    world.coordinator()
    row = next(each for each in world.ask(3, 9, MetadataRequest(topics=None)).topics if each.name == "__transaction_state")
    assert (row.is_internal, len(row.partitions)) == (True, 50)


def test_another_node_is_not_the_coordinator() -> None:
    world = TransactionWorld(nodes=3)
    node = world.coordinator().node_id
    other = 1 + node % 3
    pid = world.init(node=node)
    codes = [world.init_code(node=other), world.add(pid, node=other), world.offsets(pid, node=other), world.end(pid, node=other)]
    assert codes == [(16, *NOBODY), [16], 16, 16]
    assert [world.described(node=other)[0].error_code, world.listed(node=other), world.listed(node=node)] == [16, [], ["x"]]
    assert world.init_code(None, node=other)[0] == 0


def test_each_node_gives_out_producer_ids_of_its_own_block() -> None:
    """Three nodes of Kafka 4.3.0 behave the same except for COORDINATOR_LOAD_IN_PROGRESS (14); a restarted node takes another block."""
    world = TransactionWorld(nodes=3)
    plain = [world.init(None, node=node).id for node in (1, 2, 3, 1, 2, 3)]
    node = world.coordinator().node_id
    transactional = world.init(node=node).id
    world.command("stop_node", node=2)
    world.command("start_node", node=2)
    assert (plain, transactional) == ([0, 1000, 2000, 1, 1001, 2001], (node - 1) * 1000 + 2)
    assert world.init(None, node=2).id == 3000


def test_a_block_of_producer_ids_is_followed_by_another() -> None:
    ids = ProducerIds()
    assert [[ids.of(1) for _ in range(1001)][-2:], ids.of(2), ids.of(1)] == [[999, 1000], 2000, 1001]


def test_a_coordinator_that_moves_knows_what_it_knew() -> None:
    world = TransactionWorld(nodes=2)
    node = world.coordinator().node_id
    pid = world.init(node=node)
    world.add(pid, node=node)
    other, partition = 3 - node, partition_for("x", 50)
    world.command("move_leader", topic="__transaction_state", partition=partition, node=other)
    assert [world.end(pid, node=node), world.end(pid, node=other)] == [16, 0]
    assert world.markers() == [(pid.id, pid.epoch, True)]
    coordinator_epoch = world.topics.require_partition("t", 0).producers.all()[pid.id].coordinator_epoch
    assert coordinator_epoch == 1


def test_a_transaction_whose_coordinator_is_gone_is_written_to_when_it_is_back() -> None:
    world = TransactionWorld(nodes=2)
    pid = world.init(node=world.coordinator().node_id)
    where = world.cluster.transactions.hosting
    where.unload(world.turn(), partition_for("x", 50))
    leader = world.topics.leader_of("t", 0)
    assert world.coordinator().error_code == 15
    sent = world.produce_code(pid, node=leader)
    where.load(world.turn(), partition_for("x", 50), 1, 0)
    assert (sent, world.produce_code(pid, node=leader)) == (19, 0)


# -- InitProducerId: TX-10 to TX-27

INITS: Final[list[tuple[str, Callable[[TransactionWorld], object], object]]] = [
    ("TX-10 no id, whatever the timeout", lambda world: [world.init_code(None, timeout=-5) for _ in range(2)], [(0, 0, 0), (0, 1, 0)]),
    ("TX-10 no id, with who it was", lambda world: world.init_code(None, Pid(77, 3)), (0, 0, 0)),
    ("TX-10 no id, a pid alone", lambda world: world.init_code(None, Pid(77, -1)), (42, *NOBODY)),
    ("TX-11 empty id", lambda world: [world.init_code("", version=each) for each in range(3)], [(42, *NOBODY)] * 3),
    ("TX-12 new", lambda world: (world.init_code(), world.state()), ((0, 0, 0), ("Empty", 0))),
    ("TX-12 new, with who it was", lambda world: world.init_code("x", Pid(77, 3)), (0, 0, 0)),
    ("TX-13 timeouts", lambda world: [world.init_code(timeout=each)[0] for each in (0, -1, 900_001, 1, 900_000)], [50, 50, 50, 0, 0]),
    ("TX-13 not created", lambda world: (world.init_code(timeout=0), world.described()[0].error_code), ((50, *NOBODY), 105)),
    ("TX-20 idle", lambda world: [world.init_code() for _ in range(3)], [(0, 0, 0), (0, 0, 1), (0, 0, 2)]),
    ("TX-22 both current", lambda world: world.init_code("x", world.init()), (0, 0, 1)),
    ("TX-22 one of the two", lambda world: world.init_code("x", Pid(world.init().id, -1)), (42, *NOBODY)),
    ("TX-22 the future", lambda world: world.init_code("x", world.init().older(-1)), (90, *NOBODY)),
    ("TX-22 another pid", lambda world: world.init_code("x", Pid(world.init().id + 9, 0)), (90, *NOBODY)),
    ("TX-22 v3 says 47", lambda world: world.init_code("x", world.init().older(-1), version=3), (47, *NOBODY)),
]


@for_each("steps, wanted", [each[1:] for each in INITS], ids=[each[0] for each in INITS])
def test_who_comes_with_an_id(steps: Callable[[TransactionWorld], object], wanted: object) -> None:
    assert steps(TransactionWorld()) == wanted


def test_a_later_timeout_replaces_the_former() -> None:
    world = TransactionWorld()
    world.init(timeout=1000)
    world.init(timeout=2000)
    assert world.described()[0].transaction_timeout_ms == 2000


def test_who_lost_the_answer_is_told_again_and_only_who_was_there_last() -> None:
    world = TransactionWorld()
    first = world.init()
    second = world.init("x", first)
    assert world.init_code("x", first) == (0, *second)
    third = world.init("x", second)
    assert [world.init_code("x", first)[0], world.init_code("x", second)] == [90, (0, *third)]
    world.init()
    assert world.init_code("x", third) == (90, *NOBODY)


def test_a_zombie_that_says_who_it_was_aborts_the_open_transaction_of_the_newer_one() -> None:
    """Kafka 4.3.0 and 3.9.1 answer CONCURRENT_TRANSACTIONS (51) and check the producer's epoch only after the abort."""
    world = TransactionWorld()
    zombie = world.init()
    newer = world.init()
    world.add(newer)
    assert [world.init_code("x", zombie)[0], world.state(), world.init_code("x", zombie)[0]] == [51, ("CompleteAbort", 2), 90]


@for_each("version", [3, 5])
def test_an_open_transaction_is_aborted_before_the_next_producer_is_let_in(version: int) -> None:
    """An open transaction of an old or a new client is aborted before another producer gets the transactional id (TX-21)."""
    world = TransactionWorld()
    pid = world.init()
    world.write(pid, version=12)
    assert [world.init_code(version=version), world.init_code(version=version)] == [(51, *NOBODY), (0, pid.id, 2)]
    assert (world.markers(), world.state()) == ([(pid.id, 1, False)], ("Empty", 2))


@for_each("profile, wanted", [("groupmock", (0, 0, 1)), ("kafka-4.3", (0, 0, 1)), ("kafka-3.9", (90, -1, -1))])
def test_who_aborted_itself_by_coming_again(profile: str, wanted: tuple[int, int, int]) -> None:
    """At transaction.version 2 the producer gets its own id after the abort, and at lower levels it is fenced (TX-23)."""
    world = TransactionWorld(profile)
    pid = world.init()
    world.add(pid)
    assert [world.init_code("x", pid)[0], world.init_code("x", pid)] == [51, wanted]


def test_epochs_end_and_another_producer_id_follows() -> None:
    """InitProducerId returns a new producer id when the epochs are used up (TX-27)."""
    world = TransactionWorld()
    old = at_epoch(world, LAST)
    fresh = world.init()
    assert (fresh.id != old.id, fresh.epoch) == (True, 0)
    assert [world.end(old, version=each) for each in (0, 3, 5)] == [49, 49, 90]
    assert [world.add(old), world.init_code("x", old)[0]] == [[49], 90]


def test_the_end_of_the_last_transaction_of_a_producer_id() -> None:
    """EndTxn v5 returns a new producer id, and the marker has the last epoch, 32767 (TX-27)."""
    world = TransactionWorld()
    old = at_epoch(world, LAST)
    world.write(old, version=12)
    ended = world.finish(old)
    assert (ended[0], ended[2], world.markers()) == (0, 0, [(old.id, 32767, True)])
    assert world.finish(old) == ended, "a retry"
    assert world.write(Pid(*ended[1:]), version=12) == 0


# -- who is fenced: TX-30 to TX-33


@for_each("by", [1, -1], ids=["older", "of the future"])
def test_an_epoch_that_is_not_the_current_one(by: int) -> None:
    world = TransactionWorld()
    world.init()
    pid = world.init().older(by)
    assert {
        "add": [world.add(pid, version=each)[0] for each in range(6)],
        "offsets": [world.offsets(pid, version=each) for each in range(5)],
        "end": [world.end(pid, version=each) for each in range(5)],
        "produce": [world.write(pid, version=each) for each in (3, 10, 11, 12, 13)],
    } == {"add": [47, 47, 90, 90, 90, 90], "offsets": [47, 47, 90, 90, 90], "end": [47, 47, 90, 90, 90], "produce": [47] * 5}
    assert world.committed() == 0


def test_another_pid_or_id_is_49_before_the_epoch_is_looked_at() -> None:
    world = TransactionWorld()
    pid = Pid(world.init().id + 5, 9)
    asked = [world.add(pid)[0], world.offsets(pid), world.end(pid), world.finish(pid)[0], world.write(pid), world.write(pid, version=12)]
    other = [world.add(pid, name="y")[0], world.offsets(pid, name="y"), world.end(pid, name="y"), world.write(pid, name="y")]
    empty = [world.add(pid, name="")[0], world.offsets(pid, name=""), world.end(pid, name="")]
    assert (asked, other, empty) == ([49] * 6, [49] * 4, [42] * 3)


# -- what is in a transaction: TX-40 to TX-45


def test_partitions_are_added() -> None:
    world = TransactionWorld()
    pid = world.init()
    assert [world.add(pid, 0), world.add(pid, 0, 1), world.add(pid, 1, version=4)] == [[0], [0, 0], [0]]
    row = world.described()[0]
    assert (row.transaction_state, row.transaction_start_time_ms, shown(row.topics)) == (
        "Ongoing", WALL_MS, [{"topic": "t", "partitions": [1, 0]}],
    ), "partitions as a Java map has them"  # fmt: skip


def test_with_an_unknown_partition_nothing_is_added() -> None:
    world = TransactionWorld()
    pid = world.init()
    assert (sorted(world.add(pid, 0, 7, 1)), world.add(pid, topic="nowhere"), world.state()) == ([3, 55, 55], [3], ("Empty", 0))


MAPPED: Final[list[tuple[str, list[tuple[str, list[int]]], list[tuple[str, list[int]]]]]] = [
    ("groupmock", [("t2", [0]), ("t1", [0, 7, 1, 9]), ("none", [0])], [("none", [0]), ("t1", [9, 7, 1, 0]), ("t2", [0])]),
    ("groupmock", [("t2", [0]), ("none", [0]), ("aaa", [3]), ("zzz", [1]), ("nope", [0]), ("x1", [0]), ("x2", [0])],
     [("aaa", [3]), ("nope", [0]), ("x1", [0]), ("x2", [0]), ("none", [0]), ("zzz", [1]), ("t2", [0])]),
    ("groupmock", [("zeta", [2, 0]), ("t2", [1]), ("alpha", [1, 0, 2]), ("m", [0]), ("t1", [0])],
     [("zeta", [2, 0]), ("t2", [1]), ("alpha", [1, 0, 2]), ("m", [0]), ("t1", [0])]),
]  # fmt: skip


@for_each(("profile", "asked", "answered"), MAPPED)
def test_a_refusal_is_answered_in_the_order_of_maps(profile: str, asked: Any, answered: Any) -> None:
    """Kafka 4.3.0 and 3.9.1 answer refused partitions in the order of their maps."""
    world = TransactionWorld(profile)
    for name in ("zeta", "alpha", "m", "t1", "t2"):
        world.topic(name, 3)
    pid = world.init()
    topics = [AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in asked]
    found = world.ask(
        24, 3,
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x", v3_and_below_producer_id=pid.id, v3_and_below_producer_epoch=pid.epoch,
            v3_and_below_topics=topics,
        ),
    ).results_by_topic_v3_and_below  # fmt: skip
    assert [(each.name, [row.partition_index for row in each.results_by_partition]) for each in found] == answered


def test_an_empty_list_is_answered_with_one_and_begins_a_transaction() -> None:
    """On Kafka 4.3.0 and 3.9.1 an EndTxn afterwards shows that the transaction has begun."""
    world = TransactionWorld()
    pid = world.init()
    assert (world.add_nothing(pid), world.state(), world.end(pid), world.state()) == ([], ("Ongoing", 0), 0, ("CompleteCommit", 0))


def test_add_partitions_v4_answers_each_transaction_separately() -> None:
    """AddPartitionsToTxn v4 is for brokers and answers each transaction separately (TX-44)."""
    world = TransactionWorld()
    pid = world.init()
    world.add(pid, 0)
    found = [(world.verify(pid, 0, version=each), world.verify(pid, 1, version=each)) for each in (4, 5)]
    assert found == [(0, 120), (0, 120)]
    assert [world.verify(pid.older(-1)), world.verify(Pid(9, 0)), world.verify(pid, name="y")] == [90, 49, 49]


def test_a_group_is_added_by_its_partition() -> None:
    world = TransactionWorld()
    pid = world.init()
    assert [world.offsets(pid, group=group) for group in ("g", "")] == [0, 0]
    assert shown(world.described()[0].topics) == [{"topic": "__consumer_offsets", "partitions": [0, partition_for("g", 50)]}]


# -- EndTxn: TX-50 to TX-58


def test_old_clients_end_transactions() -> None:
    world = TransactionWorld()
    pid = world.init()
    seen = [("Empty", world.end(pid), world.end(pid, False))]
    for commit, after in (True, "CompleteCommit"), (False, "CompleteAbort"):
        world.add(pid)
        begun = world.end(pid, commit)
        assert world.state() == (after, 0)
        seen.append((after, begun, world.end(pid), world.end(pid, False)))
    assert seen == [("Empty", 48, 48), ("CompleteCommit", 0, 0, 48), ("CompleteAbort", 0, 48, 0)]


def test_new_clients_end_transactions_with_an_epoch_of_their_own() -> None:
    """EndTxn v5 answers the epoch of the next transaction, and an error contains no epoch (TX-52, TX-54, TX-56, TX-81)."""
    world = TransactionWorld()
    pid = world.init()
    assert world.finish(pid) == (48, *NOBODY)
    assert (world.finish(pid, False), world.state(), world.markers()) == ((0, 0, 1), ("CompleteAbort", 1), [])
    pid = Pid(0, 1)
    world.write(pid, version=12)
    assert (world.finish(pid), world.markers()) == ((0, 0, 2), [(0, 2, True)])
    assert [world.write(pid, 1, version=12), world.finish(Pid(0, 2)), world.finish(Pid(0, 2), False)] == [47, (48, *NOBODY), (0, 0, 3)]
    assert world.write(Pid(0, 3), version=12) == 0
    assert (world.finish(Pid(0, 3), False), world.markers()) == ((0, 0, 4), [(0, 2, True), (0, 4, False)])


def test_a_new_client_whose_answer_was_lost() -> None:
    """A retry of EndTxn v5 has the previous epoch (TX-53)."""
    for commit in True, False:
        world = TransactionWorld()
        pid = world.init()
        world.write(pid, version=12)
        found = [world.finish(pid, commit), world.finish(pid, commit), world.finish(pid, not commit)]
        assert found == [(0, 0, 1), (0, 0, 1), (48, *NOBODY)]
        world.write(Pid(0, 1), version=12)
        world.finish(Pid(0, 1))
        assert world.finish(pid, commit) == (90, *NOBODY)


def test_an_old_end_of_a_new_begin_bumps_nothing() -> None:
    """EndTxn v4 may end a transaction that Produce v12 began (TX-55, TX-68)."""
    world = TransactionWorld()
    pid = world.init()
    assert [world.write(pid, version=12), world.write(pid, 1, version=11), world.end(pid, version=4)] == [0, 0, 0]
    assert (world.state(), world.markers()) == (("CompleteCommit", 0), [(0, 0, True)])


def test_markers_may_come_later() -> None:
    """A producer that continues before the markers are written gets CONCURRENT_TRANSACTIONS (51) (TX-57)."""
    world = TransactionWorld(transaction_markers_delay_ms=50)
    pid = world.init()
    world.add(pid)
    world.write(pid)
    assert (world.end(pid), world.state()) == (0, ("PrepareCommit", 0))
    meanwhile = [world.add(pid)[0], world.init_code()[0], world.end(pid), world.end(pid, False), world.add(pid.older(-1))[0]]
    assert (meanwhile, world.markers(), world.committed()) == ([51] * 5, [], 0)
    world.sleep(50)
    assert (world.state(), world.markers(), world.committed()) == (("CompleteCommit", 0), [(0, 0, True)], 1)


@for_each(("profile", "added", "offsets"), [("kafka-4.3", [51, 51], 51), ("kafka-3.9", [49, 90], 49)])
def test_a_marker_that_is_refused_leaves_the_transaction_as_it_is(profile: str, added: list[int], offsets: int) -> None:
    """Only another coordinator tries to write the marker again, and meanwhile most requests report the unfinished transaction before a
    wrong id or epoch (TX-59, TX-32)."""
    world = TransactionWorld(profile)
    pid = world.init()
    world.add(pid, 0, 1)
    topics = [WritableTxnMarkerTopic(name="t", partition_indexes=[0])]
    later = WritableTxnMarker(producer_id=pid.id, producer_epoch=pid.epoch + 5, topics=topics)
    world.ask(27, 1, WriteTxnMarkersRequest(markers=[later]))
    assert [world.end(pid), *(len(world.markers(each)) for each in (0, 1))] == [0, 1, 1]
    world.sleep(3_600_000)
    other, ahead = Pid(99, 0), pid.older(-1)
    assert (world.state(), [row.partitions for row in world.described()[0].topics]) == (("PrepareCommit", pid.epoch), [[0]])
    assert [world.init_code()[0], world.add(pid)[0], world.offsets(pid), world.end(pid), world.end(pid, False)] == [51] * 5
    assert [world.add(other)[0], world.add(ahead)[0], world.offsets(other)] == [*added, offsets]
    assert [world.end(other), world.end(ahead), world.end(ahead, version=1), world.end(other, version=5)] == [49, 90, 47, 51]
    where, partition = world.cluster.transactions.hosting, partition_for("x", 50)
    where.unload(world.turn(), partition)
    where.load(world.turn(), partition, 1, 0)
    assert [world.init_code()[0], world.state()[0]] == [51, "PrepareCommit"]


def test_markers_wait_for_who_leads_the_partition() -> None:
    world = TransactionWorld(nodes=2)
    world.topic("alone", node=2)
    node = world.coordinator().node_id
    if node == 2:
        world.command("move_leader", topic="__transaction_state", partition=partition_for("x", 50), node=1)
    pid = world.init(node=1)
    world.add(pid, topic="alone", node=1)
    world.command("stop_node", node=2)
    assert [world.end(pid, node=1), world.described(node=1)[0].transaction_state] == [0, "PrepareCommit"]
    world.command("start_node", node=2)
    assert (world.described(node=1)[0].transaction_state, world.markers(topic="alone")) == ("CompleteCommit", [(0, 0, True)])


def test_deleted_topic_does_not_block_other_markers() -> None:
    """The transaction's other partitions get their markers (TX-58)."""
    world = TransactionWorld()
    world.topic("gone")
    pid = world.init()
    world.add(pid)
    world.add(pid, topic="gone")
    world.command("delete_topic", name="gone")
    assert (world.end(pid), world.state(), world.markers()) == (0, ("CompleteCommit", 0), [(0, 0, True)])


def test_every_partition_that_was_added_gets_a_marker() -> None:
    """Partitions without records and with refused records get a marker as well (TX-87, TX-88)."""
    world = TransactionWorld()
    pid = world.init()
    world.add(pid, 0)
    assert world.write(pid, 5, partition=1, version=12) == 45
    world.end(pid, False)
    assert [world.markers(), world.markers(1), world.fetch(isolation_level=1).aborted_transactions] == [[(0, 0, False)]] * 2 + [[]]


# -- Produce: TX-67 to TX-69


def test_a_partition_that_was_not_added() -> None:
    world = TransactionWorld()
    pid = world.init()
    assert [world.write(pid, version=each) for each in (3, 10, 11)] == [48, 48, 120]
    assert world.state() == ("Empty", 0)
    assert [world.write(pid, version=12), world.state()[0], world.write(pid, partition=1, version=13)] == [0, "Ongoing", 0]


def test_who_is_refused_is_told_why_and_an_empty_id_is_42() -> None:
    """Kafka 4.3.0 answered generated exchanges with these errors, such as INVALID_REQUEST (42) for an empty transactional id."""
    world = TransactionWorld()
    pid = world.init()
    sent = batch(b"v", producer_id=pid.id, producer_epoch=pid.epoch, base_sequence=0, attributes=16)
    row = world.produce(sent, transactional_id="x", version=10)
    assert (row["error_code"], row["error_message"]) == (48, "Partition was not added to the transaction")
    refused = [world.produce(sent, transactional_id=name, version=10) for name in ("", "y")]
    assert [(row["error_code"], row.get("error_message")) for row in refused] == [(42, None), (49, None)]


def two_writes(world: TransactionWorld, *batches: tuple[int, Pid, int]) -> list[tuple[int, int, str | None]]:
    """Send a Produce of (partition, producer, attributes) batches and return (partition, error, message) of each."""
    data = [
        PartitionProduceData(index=at, records=batch(b"v", producer_id=pid.id, producer_epoch=pid.epoch, base_sequence=0, attributes=bits))
        for at, pid, bits in batches
    ]
    asked = ProduceRequest(transactional_id="x", acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)])
    rows = world.ask(0, 10, asked).responses[0].partition_responses
    return [(row.index, row.error_code, row.error_message) for row in rows]


def test_a_request_is_of_one_producer() -> None:
    """Kafka 4.3.0 and 3.9.1 refuse a Produce request that contains batches of several producers."""
    world = TransactionWorld()
    pid = world.init()
    world.add(pid, 0, 1)
    for other in (Pid(pid.id, pid.epoch + 1), Pid(9, 0)):
        found = two_writes(world, (0, pid, 16), (1, other, 16))
        assert [row[1:] for row in found] == [(49, "Transactional records contained more than one producer ID")] * 2
    assert sorted(two_writes(world, (0, pid, 16), (1, Pid(9, 0), 0))) == [(0, 0, None), (1, 0, None)]


@for_each(("profile", "wanted"), [("groupmock", 47), ("kafka-3.9", 49)])
def test_what_the_log_has_seen_comes_before_what_the_coordinator_says(profile: str, wanted: int) -> None:
    """A partition that knows a newer epoch answers INVALID_PRODUCER_EPOCH (47) whatever transactional id is named; 3.9.1 asks the
    coordinator first."""
    world = TransactionWorld(profile)
    pid = world.init()
    world.add(pid)
    world.init_code()
    assert [world.write(pid, name="nobody"), world.write(pid), world.write(pid, name="nobody", partition=1)] == [wanted, 47, 49]


def test_what_is_refused_before_anybody_is_asked_is_answered_first() -> None:
    """Kafka 4.3.0 answers two partitions that it refuses without the coordinator in the order of their names, whatever the topic's id
    is."""
    world = TransactionWorld("kafka-4.3")
    pid = world.init()
    world.add(pid, 0, 1)
    for partition in 0, 1:
        world.write(pid, partition=partition)
    world.init()  # This InitProducerId aborts the open transaction, which raises the epoch in both partitions.
    for fenced, order in (([0], [0, 1]), ([1], [1, 0]), ([0, 1], [1, 0])):
        rows = [
            PartitionProduceData(index=each, records=batch(b"v", producer_id=who, producer_epoch=0, base_sequence=0, attributes=bits))
            for each in (0, 1)
            for who, bits in [(pid.id, 16) if each in fenced else (-1, 0)]
        ]
        data = TopicProduceData(topic_id=world.topic_id("t"), partition_data=rows)
        answer = world.ask(0, 13, ProduceRequest(acks=1, timeout_ms=1000, transactional_id="x", topic_data=[data]))
        codes = {row.index: row.error_code for row in answer.responses[0].partition_responses}
        assert (list(codes), codes) == (order, {each: 47 if each in fenced else 0 for each in (0, 1)})


@for_each("profile, order", [("kafka-4.3", ["q", "a"]), ("kafka-3.9", ["a", "q"])])
def test_partitions_are_described_in_the_order_of_maps(profile: str, order: list[str]) -> None:
    world = TransactionWorld(profile)
    pid = world.init()
    for topic in "q", "a":
        world.topic(topic)
        world.add(pid, topic=topic)
    assert [each.topic for each in world.described()[0].topics] == order


def test_what_one_produce_adds_is_added_in_the_order_of_names() -> None:
    """Two topics share a slot in the set behind DescribeTransactions, and Kafka 4.3.0 collects them in a Scala map."""
    for topics in ["q", "a"], ["a", "q"]:
        world = TransactionWorld("kafka-4.3")
        pid = world.init()
        for topic in topics:
            world.topic(topic)
        sent = batch(b"v", producer_id=pid.id, producer_epoch=pid.epoch, base_sequence=0, attributes=16)
        data = [TopicProduceData(name=each, partition_data=[PartitionProduceData(index=0, records=sent)]) for each in topics]
        world.ask(0, 12, ProduceRequest(acks=-1, timeout_ms=1000, transactional_id="x", topic_data=data))
        assert [each.topic for each in world.described()[0].topics] == ["a", "q"]


def test_the_lowest_sequence_that_was_tried_comes_first() -> None:
    """A repeated batch before the new transaction is accepted, and new batches get OUT_OF_ORDER_SEQUENCE_NUMBER (45) until the next
    epoch (TX-61)."""
    world = TransactionWorld()
    pid = world.init()
    world.add(pid)
    world.write(pid)
    world.end(pid)
    world.add(pid)
    assert [world.write(pid), world.write(pid, 1)] == [0, 45]
    world.end(pid, False)
    world.add(pid)
    assert world.write(pid, 1) == 0, "the marker ends it"


def test_a_new_transaction_of_an_unknown_producer_begins_at_0_from_v12_on() -> None:
    """Sequences that an old client tried before do not count for a new client (TX-64)."""
    world = TransactionWorld()
    pid = world.init()
    world.add(pid, 0)
    assert [world.write(pid, 1, version=11), world.write(pid, 1, partition=1, version=12)] == [0, 45]
    other = TransactionWorld()
    pid = other.init()
    assert [other.write(pid, 2, version=9), other.write(pid, 2, version=12)] == [48, 0]
    plain = TransactionWorld()
    pid = plain.init()
    assert [plain.write(pid, 0, version=9), plain.write(pid, 2, bits=0), plain.write(pid, 0, bits=0)] == [48, 45, 0]


def test_a_transactional_batch_without_an_id_is_53_and_a_plain_one_with_an_id_is_taken() -> None:
    world = TransactionWorld()
    pid = world.init()
    assert [world.write(pid, name=None), world.write(pid, bits=0)] == [53, 0]


def test_once_the_transaction_is_open_in_the_partition_its_id_is_not_looked_at() -> None:
    world = TransactionWorld()
    pid = world.init()
    world.add(pid)
    assert [world.write(pid), world.write(pid, 1, name="anything"), world.write(pid, 2, name="")] == [0, 0, 0]


def test_sequences_of_old_clients_go_on_and_those_of_new_ones_begin_again() -> None:
    world = TransactionWorld()
    pid = world.init()
    world.add(pid)
    world.write(pid)
    world.end(pid)
    assert [world.write(pid, 1), world.add(pid), world.write(pid, 2), world.write(pid, 1)] == [48, [0], 45, 0]
    bumped = Pid(*world.finish(pid)[1:])
    assert [world.write(bumped, 2, version=12), world.write(bumped, 0, version=12), world.write(pid, 0, version=12)] == [45, 0, 47]


# -- timeouts and expiry: TX-91 to TX-93

AFTER_A_TIMEOUT: Final[list[tuple[str, Callable[[TransactionWorld, Pid], object], object]]] = [
    ("Produce", lambda world, pid: [world.write(pid, 1), world.write(pid, 1, version=12), world.write(pid, partition=1)], [47, 47, 47]),
    ("AddPartitionsToTxn, AddOffsetsToTxn", lambda world, pid: [world.add(pid)[0], world.offsets(pid)], [90, 90]),
    ("commit", lambda world, pid: [world.end(pid, version=each) for each in (0, 1, 2, 4)], [47, 47, 90, 90]),
    ("abort", lambda world, pid: [world.end(pid, False, version=each) for each in (0, 1, 2, 4)], [47, 47, 90, 90]),
    ("commit of a new client", lambda world, pid: world.finish(pid), (48, *NOBODY)),
    ("abort of a new client", lambda world, pid: world.finish(pid, False), (0, 0, 1)),
    ("InitProducerId with who it was", lambda world, pid: world.init_code("x", pid), (0, 0, 1)),
    ("InitProducerId without", lambda world, _: world.init_code(), (0, 0, 2)),
]


@for_each("ask, wanted", [each[1:] for each in AFTER_A_TIMEOUT], ids=[each[0] for each in AFTER_A_TIMEOUT])
def test_after_a_timeout(ask: Callable[[TransactionWorld, Pid], object], wanted: object) -> None:
    world = TransactionWorld()
    pid = world.init(timeout=600)
    world.add(pid)
    world.write(pid)
    world.sleep(10_001)
    assert (world.state(), world.markers()) == (("CompleteAbort", 1), [(0, 1, False)])
    assert ask(world, pid) == wanted


def test_a_timeout_counts_from_the_first_partition_and_is_looked_for_at_fixed_times() -> None:
    world = TransactionWorld(transaction_abort_cleanup_interval_ms=200)
    pid = world.init(timeout=600)
    world.sleep(5_000)  # An id without an open transaction never times out.
    assert world.state() == ("Empty", 0)
    world.sleep(50)
    world.add(pid)
    world.sleep(400)
    world.add(pid, 1)  # Adding a partition does not prolong the transaction's timeout.
    seen = [world.state()[0]]
    for _ in range(2):
        world.sleep(200)
        seen.append(world.state()[0])
    assert seen == ["Ongoing", "Ongoing", "CompleteAbort"], "5,050 + 600 is seen at 5,800"


def test_who_timed_out_on_an_older_release_cannot_go_on() -> None:
    """Below transaction.version 2 a producer whose transaction timed out is fenced (TX-24)."""
    world = TransactionWorld("kafka-3.9")
    pid = world.init(timeout=600)
    world.add(pid)
    world.sleep(10_001)
    assert [world.init_code("x", pid)[0], world.init_code()] == [90, (0, 0, 2)]


def test_an_id_that_nobody_uses_is_forgotten() -> None:
    world = TransactionWorld(transactional_id_expiration_ms=HOUR_MS, transaction_max_timeout_ms=2**31 - 1)
    pid, busy = world.init(), world.init("busy", timeout=2**31 - 1)
    world.add(busy, name="busy")
    world.sleep(2 * HOUR_MS + 1)
    assert [row.error_code for row in world.described("x", "busy")] == [105, 0]
    assert [world.end(pid), world.init_code()] == [49, (0, 2, 0)]


# -- what admin tools see: TX-96, TX-97


def test_ids_are_described() -> None:
    world = TransactionWorld()
    pid = world.init()
    rows = [(each.transactional_id, each.error_code, each.transaction_state) for each in world.described("x", "nobody", "", "x")]
    assert rows == [("x", 0, "Empty"), ("nobody", 105, ""), ("", 42, ""), ("x", 0, "Empty")]
    starts = [world.described()[0].transaction_start_time_ms]
    world.sleep(7)
    world.add(pid)
    world.end(pid)
    starts.append(world.described()[0].transaction_start_time_ms)
    assert (starts, world.described()[0].topics) == ([-1, WALL_MS + 7], [])
    for profile, wanted in ("groupmock", -1), ("kafka-3.9", WALL_MS):
        world = TransactionWorld(profile)
        pid = world.init()
        world.add(pid)
        world.end(pid)
        world.init()
        assert world.described()[0].transaction_start_time_ms == wanted, profile


def listed_world() -> tuple[TransactionWorld, Any]:
    world = TransactionWorld()
    for name in ("a1", "a2", "b"):
        world.init(name)
    pid = world.init("b")
    world.add(pid, name="b")
    world.sleep(100)
    return world, pid


FILTERS: Final[list[tuple[str, dict[str, Any], list[str]]]] = [
    ("none", {}, ["a1", "a2", "b"]),
    ("a state", {"state_filters": ["Ongoing"]}, ["b"]),
    ("an unknown state alone", {"state_filters": ["ongoing"]}, []),
    ("an unknown one beside", {"state_filters": ["Nonsense", "Empty"]}, ["a1", "a2"]),
    ("a pid", {"producer_id_filters": [0]}, ["a1"]),
    ("a pid and a state", {"producer_id_filters": [0], "state_filters": ["Ongoing"]}, []),
    ("longer than 99 ms", {"duration_filter": 99}, ["a1", "a2", "b"]),
    ("longer than 100 ms", {"duration_filter": 100}, ["a1", "a2"]),
    ("a pattern", {"transactional_id_pattern": "a.*"}, ["a1", "a2"]),
    ("a pattern of a part", {"transactional_id_pattern": "a"}, []),
    ("an empty pattern", {"transactional_id_pattern": ""}, ["a1", "a2", "b"]),
]


@for_each("filters, wanted", [each[1:] for each in FILTERS], ids=[each[0] for each in FILTERS])
def test_ids_are_listed(filters: dict[str, Any], wanted: list[str]) -> None:
    assert sorted(listed_world()[0].listed(**filters)) == wanted


def test_unknown_states_are_returned_and_a_bad_pattern_is_128() -> None:
    world = listed_world()[0]
    answer = world.ask(66, 2, ListTransactionsRequest(state_filters=["ongoing", "Empty"]))
    assert answer.unknown_state_filters == ["ongoing"]
    for pattern in ("a(", "((a{100}){100}){100}"):
        assert world.ask(66, 2, ListTransactionsRequest(transactional_id_pattern=pattern)).error_code == 128
    assert [note["reason"] for note in world.notes("pattern_refused")] == ["missing closing )", "expression too large"]


# -- what is told


def test_every_change_has_a_cause() -> None:
    world = TransactionWorld()
    pid = world.init()
    world.add(pid)
    world.init()
    world.end(pid)
    moves = [(note["before"], note["after"], note["cause"]) for note in world.notes("transaction_moved")]
    assert moves == [
        ("", "Empty", "id_created"),
        ("Empty", "Ongoing", "partitions_added"),
        ("Ongoing", "PrepareAbort", "producer_replaced"),
        ("PrepareAbort", "CompleteAbort", "markers_written"),
        ("CompleteAbort", "Empty", "producer_came"),
    ]
    assert [note["reason"] for note in world.notes("producer_fenced")] == [
        "producer 0 (epoch 0) is fenced: its transactional id is at epoch 2"
    ]


def test_where_transactions_are_off_an_id_is_refused_for_good() -> None:
    world = TransactionWorld(transactions_enable=False)
    assert [world.coordinator().error_code, world.init_code()[0], world.init_code(None)[0]] == [53, 53, 0]


# -- AddPartitionsToTxn of brokers with an id listed twice, WriteTxnMarkers without partitions: as 4.3.0 and 4.4.0 answer


def batch_of(pid: Pid, *entries: tuple[bool, list[AddPartitionsToTxnTopic]]) -> AddPartitionsToTxnRequest:
    """Return a request with an entry of `x` for each (verify only, topics)."""
    by = {"transactional_id": "x", "producer_id": pid.id, "producer_epoch": pid.epoch}
    return AddPartitionsToTxnRequest(
        transactions=[AddPartitionsToTxnTransaction(**by, verify_only=only, topics=topics) for only, topics in entries]
    )


def rows_of(answer: Any) -> list[list[tuple[str, int, int]]]:
    """Return (topic, partition, error code) of each entry."""
    return [
        [(topic.name, row.partition_index, row.partition_error_code) for topic in entry.topic_results for row in topic.results_by_partition]
        for entry in answer.results_by_transaction
    ]


def test_an_id_listed_twice_adds_the_last_partitions_and_answers_with_the_first() -> None:
    world = TransactionWorld()
    pid = world.init()
    first, last = [AddPartitionsToTxnTopic(name="t", partitions=[0])], [AddPartitionsToTxnTopic(name="t", partitions=[1])]
    assert rows_of(world.ask(24, 5, batch_of(pid, (False, first), (False, last)))) == [[("t", 0, 0)], [("t", 0, 0)]]
    assert [world.verify(pid, partition) for partition in (0, 1)] == [120, 0]
    assert rows_of(world.ask(24, 5, batch_of(pid, (True, first), (True, last)))) == [[("t", 1, 0)], [("t", 1, 0)]]


def test_an_id_listed_twice_is_refused_for_the_last_unknown_topic() -> None:
    world = TransactionWorld()
    pid = world.init()
    entries = [(False, [AddPartitionsToTxnTopic(name=name, partitions=[0])]) for name in ("t", "unknown")]
    assert rows_of(world.ask(24, 5, batch_of(pid, *entries))) == [[("unknown", 0, 3)], [("unknown", 0, 3)]]
    assert world.verify(pid) == 120, "nothing was added"


def test_a_batch_without_transactions_is_never_answered() -> None:
    world = TransactionWorld()
    sent = world.rig.send(24, 5, AddPartitionsToTxnRequest(), client_id="c", client_host="/h")
    assert sent.ticket not in world.answers


@for_each("topics", [[], [WritableTxnMarkerTopic(name="t")], [WritableTxnMarkerTopic(name="unknown")]])
def test_a_marker_without_partitions_is_skipped(topics: list[WritableTxnMarkerTopic]) -> None:
    world = TransactionWorld()
    full = WritableTxnMarker(producer_id=7, transaction_result=True, topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[1])])
    empty = WritableTxnMarker(producer_id=8, transaction_result=True, topics=topics)
    assert [row.producer_id for row in world.ask(27, 1, WriteTxnMarkersRequest(markers=[empty, full])).markers] == [7]
    assert world.ask(27, 1, WriteTxnMarkersRequest(markers=[empty])).markers == []
