"""Records of transactions (SG-260 to SG-263), holes of compaction (SG-274), and the dead letter queue (SG-280 to SG-283)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from share_rig import GROUP, LOCK_MS, ShareRig

from groupmock.core.log.transactions import Marker
from groupmock.core.share.acknowledging import OFFSET_OF_ANOTHER
from groupmock_codec.acknowledge_types import ACCEPT, REJECT, RELEASE
from groupmock_codec.records import TRANSACTIONAL_BIT, NewRecord, decode_records, encode_batch, read_batches

P0 = ("orders", 0)


class Producer:
    """A transactional producer that writes to orders/0."""

    def __init__(self, share: ShareRig, producer_id: int) -> None:
        self.share, self.producer_id, self.sequence = share, producer_id, 0

    def write(self, count: int) -> None:
        records = [NewRecord(key=b"k", value=b"v")] * count
        batch = encode_batch(
            records, producer_id=self.producer_id, producer_epoch=0, base_sequence=self.sequence, attributes=TRANSACTIONAL_BIT
        )
        self.sequence += count
        topics = self.share.cluster.topics
        topic = topics.require("orders")
        from groupmock.core.log.producers import Origin

        topics.write(self.share.rig.turn(), topic, topic.partitions[0], read_batches(batch), Origin.COORDINATOR)
        topics.fetches.changed(self.share.rig.turn(), [P0])

    def end(self, committed: bool) -> None:
        topics, turn = self.share.cluster.topics, self.share.rig.turn()
        topic = topics.require("orders")
        topics.mark(turn, topic, topic.partitions[0], Marker(self.producer_id, 0, committed))
        topics.fetches.changed(turn, [P0])
        self.share.rig._perform(turn.out)


def test_uncommitted_records_and_markers_are_acquired_by_default(share: ShareRig) -> None:
    producer = Producer(share, 7)
    producer.write(3)
    alice = share.session("alice")
    assert alice.take(P0) == [(0, 2, 1)]
    producer.end(committed=False)
    assert alice.take() == [(3, 3, 1)]


def test_aborted_records_are_archived_for_a_group_of_committed_ones(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__isolation__level="read_committed")
    producer, other = Producer(share, 7), Producer(share, 8)
    producer.write(3)
    alice = share.session("alice")
    assert alice.take(P0) == []
    waiting = alice.send(max_wait_ms=60_000)
    producer.end(committed=False)
    assert alice.acquired(waiting.answer) == {P0: [(3, 3, 1)]}
    share.produce(2)
    other.write(2)
    share.produce(1)
    assert alice.take() == [(4, 5, 1)]  # The open transaction ends what may be read.
    ((code, _),) = alice.acknowledge({P0: [(1, 1, ACCEPT)]}).values()
    assert code == 121  # The start moves over the aborted records with the next write.
    other.end(committed=True)
    assert alice.take() == [(6, 9, 1)]


@pytest.mark.parametrize(("then", "got"), [("read_uncommitted", []), ("read_committed", [(0, 2, 1)])])
def test_a_fetch_that_waits_keeps_the_isolation_level_that_its_group_had(
    make_share: Callable[..., ShareRig], then: str, got: list[tuple[int, int, int]]
) -> None:
    """KafkaApis.handleShareFetchRequest of Kafka 4.4.0 reads the level when the fetch comes (FetchParams.isolation)."""
    share = make_share(share__isolation__level="read_committed" if then == "read_uncommitted" else "read_uncommitted")
    alice = share.session("alice")
    waiting = alice.send(P0, max_wait_ms=1000, min_bytes=1_000_000)
    share.configure({"share.isolation.level": then})
    Producer(share, 7).write(3)
    share.rig.sleep(1000)
    assert alice.acquired(waiting.answer).get(P0, []) == got
    assert alice.take() == ([(0, 2, 1)] if then == "read_uncommitted" else [])


def test_aborted_records_split_the_batch_in_front_of_them(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__isolation__level="read_committed")
    producer = Producer(share, 7)
    share.produce(3, 2)
    producer.write(2)
    producer.end(committed=False)
    alice, bob = share.session("alice"), share.session("bob")
    assert alice.take(P0, max_records=3) == [(0, 2, 1)]
    bob.fetch(max_wait_ms=0)
    assert bob.acknowledge({P0: [(1, 1, ACCEPT)]}) == {P0: (121, OFFSET_OF_ANOTHER)}


def test_aborted_records_far_behind_what_is_acquired_split_the_last_batch(make_share: Callable[..., ShareRig]) -> None:
    """SharePartition.filterAbortedTransactionalAcquiredRecords of Kafka 4.4.0 goes through all that was read of the log."""
    share = make_share(share__isolation__level="read_committed")
    share.produce(2, *[1] * 9)
    producer = Producer(share, 7)
    producer.write(1)
    producer.end(committed=False)
    alice, bob = share.session("alice"), share.session("bob")
    assert alice.take(P0, max_records=2, batch_size=2) == [(0, 1, 1)]
    assert bob.take(P0, max_records=1) == [(2, 2, 1)]
    assert bob.acknowledge({P0: [(0, 1, ACCEPT)]}) == {P0: (121, OFFSET_OF_ANOTHER)}
    assert all(fields["cause"] != "aborted" for fields in share.notes("records_released"))


def test_aborted_records_are_read_anew_after_a_reload_until_the_start_behind_them_is_written(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__isolation__level="read_committed")
    producer = Producer(share, 7)
    producer.write(1)
    producer.end(committed=False)
    alice, bob = share.session("alice"), share.session("bob")
    assert alice.take(P0) == [(1, 1, 1)]
    alice.hang_up()
    assert bob.take(P0) == [(1, 1, 2)]
    bob.acknowledge({P0: [(1, 1, ACCEPT)]})
    assert share.start() == 0


def test_aborted_records_have_no_lock_that_ends(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__isolation__level="read_committed")
    producer = Producer(share, 7)
    producer.write(2)
    producer.end(committed=False)
    alice = share.session("alice")
    assert alice.take(P0, mode=1, max_records=2) == []
    share.rig.sleep(LOCK_MS)
    assert alice.take() == [(2, 2, 1)]
    alice.close()
    assert (share.start(), share.lag()) == (0, 1)  # The start is the one from before the release.


def test_aborted_records_before_the_start_lower_the_lag_until_nothing_is_in_flight(make_share: Callable[..., ShareRig]) -> None:
    """Kafka 4.4.0 answers with the same start offsets and lags (SharePartition.archivePerOffsetBatchRecords)."""
    share = make_share(share__isolation__level="read_committed")
    alice, bob = share.session("alice"), share.session("bob")
    producer = Producer(share, 7)
    share.produce(2)
    producer.write(4)
    producer.end(committed=False)
    share.produce(4)
    assert alice.take(P0, max_records=1) == [(0, 1, 1)]
    share.delete_records_before(4)
    assert bob.take(P0) == []  # The fetch learns that the log has not got the offset any more.
    assert bob.take(max_records=9) == [(6, 10, 1)]
    bob.acknowledge({P0: [(7, 8, ACCEPT)]})
    assert (share.start(), share.lag()) == (4, 1)
    bob.acknowledge({P0: [(6, 6, ACCEPT), (9, 10, ACCEPT)]})
    assert (share.start(), share.lag()) == (4, -2)
    alice.close()  # Nothing is in flight any more, and the count begins anew.
    share.produce(2)
    assert bob.take() == [(11, 12, 1)]
    bob.acknowledge({P0: [(11, 11, ACCEPT)]})
    assert (share.start(), share.lag()) == (11, 1)


def test_an_aborted_batch_that_begins_before_all_records_in_flight_fails_the_fetch(make_share: Callable[..., ShareRig]) -> None:
    """Kafka 4.4.0 answers the same, and its locks of the records that nobody gets end (SharePartition.fetchSubMap)."""
    share = make_share(share__isolation__level="read_committed")
    producer = Producer(share, 7)
    producer.write(4)
    producer.end(committed=False)
    share.produce(2)
    share.produce(3, partition=1)
    share.initialize([0], start=2, epoch=3)
    alice, bob = share.session("alice"), share.session("bob")
    answer = alice.fetch(("orders", 1), P0)
    rows = [(row.partition_index, row.error_code, row.error_message, row.records) for row in answer.responses[0].partitions]
    assert sorted(rows) == [(0, -1, None, b""), (1, -1, None, b"")]
    assert bob.take(P0) == []
    alice.close()
    assert (share.start(), share.lag()) == (2, 5)
    answer = bob.fetch()
    assert answer.responses[0].partitions[0].error_code == -1
    assert bob.acknowledge({P0: [(2, 6, ACCEPT)]}) == {P0: (0, None)}
    share.produce(1)
    assert bob.take() == [(7, 7, 1)]


def test_a_fetch_that_acknowledges_moves_the_start_over_aborted_records_that_it_reads(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__isolation__level="read_committed")
    producer = Producer(share, 7)
    share.produce(1)
    producer.write(2)
    producer.end(committed=False)
    alice = share.session("alice")
    assert alice.take(P0, mode=1, max_records=1) == [(0, 0, 1)]
    assert alice.take(mode=1, max_records=2, acknowledge={P0: [(0, 0, ACCEPT)]}) == []
    assert share.shares.partitions[GROUP, share.topic_id, 0].states.start == 3


def test_bytes_of_aborted_records_between_others_are_sent(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(share__isolation__level="read_committed")
    share.produce(1)
    producer = Producer(share, 7)
    producer.write(2)
    producer.end(committed=False)
    share.produce(1)
    alice = share.session("alice")
    answer = alice.fetch(P0)
    assert alice.acquired(answer) == {P0: [(0, 0, 1), (3, 4, 1)]}
    assert [batch.base_offset for batch in read_batches(answer.responses[0].partitions[0].records)] == [0, 1, 3, 4]
    ((code, _),) = alice.acknowledge({P0: [(1, 1, ACCEPT)]}).values()
    assert code == 121


def _letters(share: ShareRig, partition: int = 0) -> list[tuple[bytes | None, dict[str, str]]]:
    return [
        (record.value, {name: (value or b"").decode() for name, value in record.headers})
        for batch in share.cluster.topics.batches("dlq.workers", partition)
        for record in decode_records(batch)
    ]


def _with_queue(make_share: Callable[..., ShareRig], **configs: str) -> ShareRig:
    share = make_share(errors__deadletterqueue__topic__name="dlq.workers", **configs)
    share.rig.topic("dlq.workers", 1, {"errors.deadletterqueue.group.enable": "true"})
    return share


def test_rejected_and_exhausted_records_become_dead_letters(make_share: Callable[..., ShareRig]) -> None:
    share = _with_queue(make_share, share__delivery__count__limit="2")
    share.produce(3)
    alice = share.session("alice")
    alice.fetch(P0)
    alice.acknowledge({P0: [(0, 2, [ACCEPT, REJECT, RELEASE])]})
    assert alice.take() == [(2, 2, 2)]
    alice.acknowledge({P0: [(2, 2, RELEASE)]})
    base = {"__dlq.errors.topic": "orders", "__dlq.errors.partition": "0", "__dlq.errors.group": "workers"}
    assert _letters(share) == [
        (
            None,
            {
                **base,
                "__dlq.errors.offset": "1",
                "__dlq.errors.delivery.count": "1",
                "__dlq.errors.message": "Offset rejected by client.",
            },
        ),
        (
            None,
            {
                **base,
                "__dlq.errors.offset": "2",
                "__dlq.errors.delivery.count": "2",
                "__dlq.errors.message": "Offset delivery count exceeded the threshold.",
            },
        ),
    ]


def test_dead_letters_may_have_the_records_key_and_value(make_share: Callable[..., ShareRig]) -> None:
    share = _with_queue(make_share, errors__deadletterqueue__copy__record__enable="true")
    share.produce(2)
    alice = share.session("alice")
    alice.fetch(P0)
    alice.acknowledge({P0: [(1, 1, REJECT)]})
    assert [value for value, _ in _letters(share)] == [b"v"]


def test_topics_that_are_no_queues_get_no_dead_letters(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(errors__deadletterqueue__topic__name="dlq.workers")
    share.rig.topic("dlq.workers", 1)
    share.produce(1)
    alice = share.session("alice")
    alice.fetch(P0)
    assert alice.acknowledge({P0: [(0, 0, REJECT)]}) == {P0: (0, None)}
    assert _letters(share) == []


def test_a_missing_queue_is_made_if_the_broker_may(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(errors__deadletterqueue__topic__name="dlq.workers")
    share.cluster.topics.configure_broker(share.rig.turn(), "", {"errors.deadletterqueue.auto.create.topics.enable": "true"})
    share.produce(1)
    alice = share.session("alice")
    alice.fetch(P0)
    alice.acknowledge({P0: [(0, 0, REJECT)]})
    assert len(_letters(share)) == 1
