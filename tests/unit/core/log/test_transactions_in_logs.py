"""Transactions in one log: sequences, markers, last stable offset and aborted transactions (docs/kafka/transactions.md, TX-60 to TX-66
and TX-80 to TX-99). The partition is not verified here (transaction.partition.verification.enable=false): a coordinator has tests of its
own."""

from __future__ import annotations

from typing import Any, Final

from cases import for_each
from log_world import WALL_MS, LogWorld, batch, fetch_request, shown

from groupmock.core.log.transactions import LogTransactions, Marker
from groupmock.core.settings import Quirks
from groupmock_codec.markers import marker_batch, marker_of
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k21_delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from groupmock_codec.messages.k27_write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from groupmock_codec.messages.k61_describe_producers import DescribeProducersRequest, TopicRequest
from groupmock_codec.records import decode_records, read_batches

TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DAY_MS: Final = 24 * 3600 * 1000
MARKER: Final = (
    "0000000000000002 00000042 00000000 02 2c755c4e 0030 00000000 000001a2034d8b9d 000001a2034d8b9d 0000000000000001 0001 ffffffff "
    "00000001 20 00 00 00 08 00000001 0c 000000000000 00"
)
"""Transaction marker as Kafka 4.3.0 wrote it: commit at offset 2 by producer 1 with epoch 1."""


class TxnWorld(LogWorld):
    """A cluster with one topic and short methods for what producers do to its partition."""

    def __init__(self, quirks: Quirks | None = None, **settings: Any) -> None:
        super().__init__(quirks=quirks, transaction_partition_verification_enable=False, **settings)
        self.topic("t", segment_bytes="1048576")

    def write(self, pid: int, sequence: int, *values: bytes, epoch: int = 0, plain: bool = False, version: int = 11) -> int:
        """Produce a transactional batch and return the error code."""
        return int(self.row(pid, sequence, *values, epoch=epoch, plain=plain, version=version).get("error_code", 0))

    def row(self, pid: int, sequence: int, *values: bytes, epoch: int = 0, plain: bool = False, version: int = 11) -> Any:
        bits = 0 if plain else TRANSACTIONAL
        sent = batch(*(values or (b"v",)), producer_id=pid, producer_epoch=epoch, base_sequence=sequence, attributes=bits)
        return self.produce(sent, transactional_id="x", version=version)

    def end(self, pid: int, commit: bool, *, epoch: int = 0, coordinator: int = 0, version: int = 1, partition: int = 0) -> int:
        topics = [WritableTxnMarkerTopic(name="t", partition_indexes=[partition])]
        marker = WritableTxnMarker(
            producer_id=pid, producer_epoch=epoch, transaction_result=commit, topics=topics, coordinator_epoch=coordinator
        )
        answer = self.ask(27, version, WriteTxnMarkersRequest(markers=[marker]))
        return int(answer.markers[0].topics[0].partitions[0].error_code)

    def ends(self) -> tuple[int, int, int]:
        """Return log start offset, last stable offset and high watermark from a Fetch."""
        row = self.fetch(self.topics.require_partition("t", 0).start)
        return row.log_start_offset, row.last_stable_offset, row.high_watermark

    def read(self, offset: int, level: int, version: int = 11) -> tuple[list[int], list[tuple[int, int]] | None]:
        """Return the base offsets of the fetched batches and the aborted transactions as (producer, first offset)."""
        row = self.fetch(offset, isolation_level=level, version=version)
        aborted = row.aborted_transactions
        listed = None if aborted is None else [(each.producer_id, each.first_offset) for each in aborted]
        return [each.base_offset for each in read_batches(row.records or b"")], listed

    def cut(self, offset: int) -> Any:
        topics = [DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])]
        return self.ask(21, 2, DeleteRecordsRequest(topics=topics)).topics[0].partitions[0]

    def listed(self, timestamp: int, level: int, replica: int = -1) -> int:
        partitions = [ListOffsetsPartition(partition_index=0, timestamp=timestamp)]
        asked = ListOffsetsRequest(replica_id=replica, isolation_level=level, topics=[ListOffsetsTopic(name="t", partitions=partitions)])
        return int(self.ask(2, 7, asked).topics[0].partitions[0].offset)

    def producers(self) -> Any:
        asked = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])
        return shown(self.ask(61, 0, asked).topics[0].partitions[0].active_producers)


# -- sequences: TX-60 to TX-66


def test_sequences_of_one_producer() -> None:
    world = TxnWorld()
    steps = [
        ("any sequence of an unknown producer", (1, 7), {}, 0),
        ("the next", (1, 8), {}, 0),
        ("a gap", (1, 10), {}, 45),
        ("a duplicate", (1, 7), {}, 0),
        ("a longer one", (1, 8, b"a", b"b"), {}, 45),
        ("a higher epoch not at 0", (1, 9), {"epoch": 3}, 45),
        ("a higher epoch, not the next one", (1, 0), {"epoch": 3}, 0),
        ("a lower epoch, known or not", (1, 7), {}, 47),
    ]
    assert [(name, world.write(*what, plain=True, **how)) for name, what, how, _ in steps] == [(name, code) for name, *_, code in steps]
    assert world.topics.require_partition("t", 0).end == 3


def test_of_who_wrote_without_an_epoch_no_order_is_asked() -> None:
    world = TxnWorld()
    found = [world.write(7, sequence, epoch=epoch, plain=True) for sequence, epoch in ((4, -1), (9, -1), (7, 0), (9, 0), (8, 0))]
    assert found == [0, 0, 0, 45, 0]


def test_five_batches_are_remembered() -> None:
    world = TxnWorld()
    for sequence in range(6):
        world.write(1, sequence, plain=True)
    again = [world.row(1, sequence, plain=True) for sequence in range(6)]
    assert [(row.get("error_code", 0), row.get("base_offset", 0)) for row in again] == [
        (45, -1),
        *((0, offset) for offset in range(1, 6)),
    ]


def test_after_the_largest_sequence_comes_0_and_a_batch_may_lie_across() -> None:
    world = TxnWorld()
    assert [world.write(1, 2**31 - 2, b"a", b"b", b"c", plain=True), world.write(1, 1, plain=True)] == [0, 0]


def test_deleted_records_do_not_make_the_partition_forget() -> None:
    world = TxnWorld()
    world.write(1, 0, b"a", b"b", plain=True)
    world.cut(2)
    assert [world.write(1, 5, plain=True), world.row(1, 0, b"a", b"b", plain=True).get("base_offset", 0)] == [45, 0]


@for_each(
    "sent",
    [
        batch(b"a", producer_id=1, producer_epoch=0),
        batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL | CONTROL),
        batch(b"a") + batch(b"b"),
    ],
    ids=("a producer without a sequence", "a control batch", "two batches"),
)
def test_what_no_client_may_write(sent: bytes) -> None:
    assert TxnWorld().produce(sent, transactional_id="x", version=11)["error_code"] == 87


def test_a_plain_batch_amid_a_transaction_of_its_producer_is_48() -> None:
    world = TxnWorld()
    world.write(1, 0)
    amid = [world.write(1, 1, plain=True), world.write(2, 0, plain=True)]
    assert [*amid, world.end(1, True), world.write(1, 1, plain=True)] == [48, 0, 0, 0]


# -- markers and readers: TX-80 to TX-88


def test_a_marker_has_kafkas_bytes() -> None:
    made = marker_batch(True, 1, 1, 0, 0x1A2034D8B9D).placed(2, 0)
    assert made.data == bytes.fromhex(MARKER.replace(" ", ""))
    assert (len(made.data), marker_of(made), made.control, made.transactional) == (78, True, True, True)


def test_the_log_is_stable_up_to_the_oldest_open_transaction() -> None:
    world = TxnWorld()
    seen = []
    for step in (
        lambda: world.write(1, 0, b"a", b"b"),
        lambda: world.write(2, 0),
        lambda: world.append(batch(b"plain")),
        lambda: world.end(2, True),
        lambda: world.end(1, False),
    ):
        step()
        seen.append(world.ends())
    assert seen == [(0, 0, 2), (0, 0, 3), (0, 0, 4), (0, 0, 5), (0, 6, 6)]


def test_each_level_reads_what_it_may() -> None:
    world = TxnWorld()
    world.append(batch(b"plain"))
    world.write(1, 0)
    world.end(1, False)
    world.write(2, 0)
    world.append(batch(b"behind"))
    for version in (4, 11, 13, 18):
        assert world.read(0, 1, version) == ([0, 1, 2], [(1, 1)]), version
        assert world.read(0, 0, version) == ([0, 1, 2, 3, 4], None), version
        assert world.read(3, 1, version) == ([], []), version
        assert world.read(5, 1, version) == ([], []), version
    assert world.fetch(6, isolation_level=1).error_code == 1


def test_aborted_transactions_come_in_the_order_of_their_markers() -> None:
    world = TxnWorld()
    world.write(1, 0)
    world.write(2, 0)
    world.write(3, 0)
    world.end(2, False)
    world.end(3, True)
    world.end(1, False)
    world.write(4, 0)
    assert [world.read(offset, 1)[1] for offset in (0, 3, 4, 5, 6)] == [[(2, 1), (1, 0)], [(2, 1), (1, 0)], [(1, 0)], [(1, 0)], []]


def test_an_abort_behind_an_open_transaction_is_listed_where_something_is_read() -> None:
    """Kafka 4.3.0, 3.9.1 and 2.8.2 list the aborted transaction up to the next entry of their offset index or the log's end."""
    world = TxnWorld()
    world.append(batch(b"plain"))
    world.write(1, 0)
    world.write(2, 0)
    world.end(2, False)
    before = [world.read(offset, 1) for offset in (0, 1, 2)]
    world.end(1, True)
    assert (before, world.read(1, 1)) == ([([0], [(2, 2)]), ([], []), ([], [])], ([1, 2, 3, 4], [(2, 2)]))


@for_each(
    ("quirks", "wanted"),
    [
        (Quirks(), ["parked", "parked", "answered", "answered"]),
        (Quirks(committed_fetch_goes_by_its_own_offset=True), ["parked", "answered", "answered", "answered"]),
    ],
)
def test_beyond_what_is_stable_a_reader_is_answered_at_once(quirks: Quirks, wanted: list[str]) -> None:
    """Kafka 4.3.0 and 3.9.1 answer at once at the last stable offset, inside its batch, in the next batch and at the end (TX-84)."""
    world = TxnWorld(quirks)
    world.write(1, 0, b"a", b"b")
    world.append(batch(b"plain"))
    fetches = [fetch_request(("t", 0, offset), isolation_level=1, min_bytes=1, max_wait_ms=5000) for offset in (0, 1, 2, 3)]
    tickets = [world.send(1, 11, each, connection=7 + place) for place, each in enumerate(fetches)]
    assert [world.outcome(each) for each in tickets] == wanted


LISTED: Final = (
    ((0, 1), (0, 6)),
    ((0, 4513), (0, 6)),
    ((0, 4514), (0, 14)),
    ((2, 3366), (2, 14)),
    ((8, 4436), (8, 14)),
    ((9, 1), (8, 14)),
    ((16, 1), (16, 22)),
    ((30, 1), (30, 30)),
    ((30, 3000), (30, 38)),
    ((39, 1), (38, 38)),
)
"""Offset and size of a fetch -> the first and last aborted transaction that Kafka 4.3.0 lists, up to the next entry of the offset index.
A fetch that reads just up to the first entry, at byte 4514, skips it (core.log.offset_index)."""


def test_the_list_of_a_small_fetch_ends_at_an_entry_of_the_offset_index() -> None:
    world = TxnWorld()
    for pid in range(20):
        assert (world.write(pid, 0, bytes(1000)), world.end(pid, False)) == (0, 0)
    found = []
    for (offset, size), _ in LISTED:
        row = world.fetch(offset, isolation_level=1, max_bytes=size)
        firsts = [each.first_offset for each in row.aborted_transactions or ()]
        assert firsts == list(range(firsts[0], firsts[-1] + 1, 2))
        found.append(((offset, size), (firsts[0], firsts[-1])))
    assert tuple(found) == LISTED


def test_a_marker_where_nothing_was_written_leaves_no_entry() -> None:
    world = TxnWorld()
    assert (world.end(9, False), world.ends(), world.read(0, 1)) == (0, (0, 1, 1), ([0], []))


def test_a_reader_at_the_last_stable_offset_waits_through_writes_for_the_marker() -> None:
    world = TxnWorld()
    world.write(1, 0)
    ticket = world.send(1, 11, fetch_request(("t", 0, 0), isolation_level=1, min_bytes=1, max_wait_ms=5000), connection=7)
    world.append(batch(b"plain"))
    world.write(1, 1)
    waiting = world.outcome(ticket)
    world.end(1, True)
    row = world.answers[ticket].responses[0].partitions[0]
    assert (waiting, row.last_stable_offset, len(read_batches(row.records))) == ("parked", 4, 4)


def test_formats_before_batches_have_no_markers() -> None:
    world = TxnWorld()
    world.write(1, 0)
    world.end(1, True)
    assert world.fetch(1, version=2).records == b""


# -- looking up, deleting, forgetting: TX-89 to TX-94


def test_offsets_are_listed_by_isolation_level() -> None:
    world = TxnWorld()
    world.append(batch(b"old", timestamp=WALL_MS - 10))
    world.write(1, 0)
    asked = (("latest", -1), ("earliest", -2), ("by time", WALL_MS), ("largest time", -3))
    found = [(name, world.listed(timestamp, 0), world.listed(timestamp, 1)) for name, timestamp in asked]
    assert found == [("latest", 2, 1), ("earliest", 0, 0), ("by time", 1, -1), ("largest time", 1, -1)]
    assert world.listed(-1, 1, replica=0) == 2, "who says it is a replica has no level"
    world.sleep(50)
    world.end(1, False)
    assert [world.listed(WALL_MS, 1), world.listed(WALL_MS + 50, 1), world.listed(-1, 1)] == [1, 2, 3]


def test_records_of_an_open_transaction_may_be_deleted() -> None:
    """Records are deleted inside a batch, at a batch and at the end; Kafka 4.3.0 reports the first offset of the batch with the log
    start."""
    for quirk, amid in (False, 1), (True, 2):
        world = TxnWorld(quirks=Quirks(stable_offset_within_log=quirk))
        world.append(batch(b"plain"))
        world.write(1, 0, b"a", b"b")
        world.write(1, 2)
        found = []
        for offset in (2, 3, 4):
            world.cut(offset)
            found.append(world.ends())
        world.write(1, 3)
        assert found == [(2, amid, 4), (3, 3, 4), (4, 4, 4)]
        assert (world.ends(), world.cut(9).error_code) == ((4, 4, 5), 1)
        world.end(1, False)
        assert world.read(4, 1) == ([4, 5], [(1, 1)])


def test_the_largest_timestamp_may_be_that_of_deleted_records() -> None:
    """Kafka 4.3.0 and 3.9.1 keep the largest timestamp per segment until the segment is deleted."""
    world = TxnWorld()
    world.append(batch(b"a", timestamp=WALL_MS - 20))
    world.append(batch(b"b", timestamp=WALL_MS - 10))
    found = []
    for offset in 1, 2:
        world.cut(offset)
        found.append(world.listed(-3, 0))
    world.append(batch(b"c", timestamp=WALL_MS - 10))
    found.append(world.listed(-3, 0))
    world.append(batch(b"d"))
    found.append(world.listed(-3, 0))
    assert (found, world.listed(WALL_MS - 10, 0)) == ([1, 1, 1, 3], 2)
    world.cut(4)
    world.command("configure_topic", name="t", set={"segment.ms": "1"})
    world.sleep(10)
    world.append(batch(b"e", timestamp=WALL_MS + 10))
    world.cut(5)
    assert world.listed(-3, 0) == 4


def test_a_partition_forgets_who_wrote_nothing_for_a_day_but_not_amid_a_transaction() -> None:
    world = TxnWorld()
    world.write(1, 0, plain=True)
    world.write(2, 0)
    world.sleep(DAY_MS + 1_000_000)
    assert [world.write(1, 40, plain=True), world.write(1, 42, plain=True), world.write(2, 2)] == [0, 45, 45]
    assert [each["producer_id"] for each in world.producers()] == [1, 2]


# -- compaction and age


def test_what_was_aborted_is_compacted_away_and_markers_stay() -> None:
    world = TxnWorld()
    world.command("configure_topic", name="t", set={"cleanup.policy": "compact", "segment.ms": "1"})
    for pid, commit, value in ((1, True, b"kept"), (2, False, b"aborted"), (3, None, b"open"), (4, None, b"active")):
        world.sleep(10)
        how = {"producer_id": pid, "producer_epoch": 0, "base_sequence": 0, "attributes": TRANSACTIONAL, "timestamp": WALL_MS + 10 * pid}
        world.produce(batch(value, keys=[b"k"], **how), transactional_id="x", version=11)
        if commit is not None:
            world.end(pid, commit)
    world.command("compact_topic", topic="t")
    left = list(world.topics.batches("t", 0))
    values = [record.value for each in left if not each.control for record in decode_records(each)]
    assert (values, [each.base_offset for each in left if each.control]) == ([b"kept", b"open", b"active"], [1, 3])


def test_age_takes_the_beginning_of_an_open_transaction_along() -> None:
    world = TxnWorld()
    world.command("configure_topic", name="t", set={"retention.ms": "1000"})
    world.write(1, 0)
    world.sleep(700_000)
    assert world.ends() == (1, 1, 1)
    assert [world.write(1, 1), world.end(1, True)] == [0, 0]


# -- DescribeProducers and WriteTxnMarkers: TX-98, TX-99


def test_producers_are_described() -> None:
    world = TxnWorld()
    world.append(batch(b"plain batches leave nothing"))
    world.write(1, 0, b"a", b"b")
    open_one = world.producers()
    world.end(1, True, coordinator=3)
    same_epoch = world.producers()
    world.end(1, False, epoch=1, coordinator=3)
    common = {"producer_id": 1}
    assert open_one == [
        {**common, "last_sequence": 1, "last_timestamp": WALL_MS + 1, "coordinator_epoch": -1, "current_txn_start_offset": 1}
    ]
    assert same_epoch == [{**common, "last_sequence": 1, "last_timestamp": WALL_MS, "coordinator_epoch": 3}]
    assert world.producers() == [{**common, "producer_epoch": 1, "last_timestamp": WALL_MS, "coordinator_epoch": 3}]


def test_producers_of_what_is_not_there() -> None:
    world = TxnWorld()
    told = "This server does not host this topic-partition."
    asked = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[1]), TopicRequest(name="u", partition_indexes=[0])])
    rows = [row for topic in world.ask(61, 0, asked).topics for row in topic.partitions]
    assert [(row.error_code, row.error_message) for row in rows] == [(3, None), (3, told)]


def test_producers_of_one_bucket() -> None:
    """Java's map keeps producers of one bucket in insertion order."""
    world = TxnWorld()
    for pid in (1_001_296, 1_295):
        world.write(pid, 0)
    assert [each["producer_id"] for each in world.producers()] == [1_001_296, 1_295]


def test_any_client_may_write_markers() -> None:
    world = TxnWorld()
    world.write(1, 0, epoch=2)
    steps = [
        ("an older epoch", world.end(1, True, epoch=1), 47),
        ("the transaction's", world.end(1, True, epoch=2, coordinator=5), 0),
        ("a coordinator of the past", world.end(1, True, epoch=2, coordinator=4), 52),
        ("a higher epoch", world.end(1, True, epoch=3, coordinator=5, version=2), 0),
        ("which fences", world.write(1, 1, epoch=2), 47),
        ("no such partition", world.end(1, True, epoch=3, partition=4), 3),
    ]
    assert [(name, found) for name, found, _ in steps] == [(name, wanted) for name, _, wanted in steps]


def test_which_batches_were_aborted_is_known_by_producer_until_the_log_is_cut() -> None:
    log = LogTransactions()
    for first, producer, committed in ((0, 1, False), (2, 2, True), (4, 1, False), (6, 2, False), (8, 1, True)):
        log.began(producer, first)
        log.ended(Marker(producer, 0, committed), first + 1)
    batches = [(1, 0), (2, 2), (1, 4), (2, 6), (1, 8), (3, 0)]
    assert [log.aborted_batch(*each) for each in batches] == [True, False, True, True, False, False]
    log.trim(5)
    assert [log.aborted_batch(*each) for each in batches] == [False, False, True, True, False, False]
    log.trim(9)
    assert not any(log.aborted_batch(*each) for each in batches) and log.aborted(0, 9) == []


def test_every_replica_describes_producers_and_no_other_node() -> None:
    world = LogWorld(nodes=3)
    world.topic("r", node=1)
    world.core.cluster.topics.require_partition("r", 0).replicas = [1, 2]
    asked = DescribeProducersRequest(topics=[TopicRequest(name="r", partition_indexes=[0])])
    codes = [world.ask(61, 0, asked, node=node).topics[0].partitions[0].error_code for node in (1, 2, 3)]
    assert codes == [0, 0, 6]
