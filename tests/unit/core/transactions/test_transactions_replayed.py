"""A journal with transactions replays to the same epochs, markers, timeouts and notes, row by row."""

from __future__ import annotations

from pathlib import Path

from log_world import batch, produce_request
from rig_journal import never

from groupmock.core.events import Command
from groupmock.journal.file import FileSink
from groupmock.journal.read import read
from groupmock.rig import WireRig
from groupmock.rig.replay import replay
from groupmock.story.transactional import tell_id
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.records import TRANSACTIONAL_BIT


def test_a_journal_of_transactions_plays_again(tmp_path: Path) -> None:
    """One transaction is committed with late markers, another times out, and finally the id expires."""
    settings = {"groupmock.transaction.markers.delay.ms": 30, "transactional.id.expiration.ms": 3_600_000}
    rig = WireRig.make(topics={"t": 1}, seed=3, settings=settings, sinks=[FileSink(str(tmp_path / "run.jsonl"), never)])
    wire = rig.connect()
    for _ in range(2):
        given = wire.ask(22, 4, InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=500), "anna")
        pid, epoch = given.producer_id, given.producer_epoch
        sent = batch(b"v", producer_id=pid, producer_epoch=epoch, base_sequence=0, attributes=TRANSACTIONAL_BIT)
        wire.ask(0, 12, produce_request(sent, transactional_id="x"), "anna")
        row = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=4)
        topics = [TxnOffsetCommitRequestTopic(name="t", partitions=[row])]
        offsets = TxnOffsetCommitRequest(transactional_id="x", group_id="g", producer_id=pid, producer_epoch=epoch, topics=topics)
        wire.ask(28, 5, offsets, "anna")
        if not epoch:
            wire.ask(26, 3, EndTxnRequest(transactional_id="x", producer_id=pid, producer_epoch=epoch, committed=True), "anna")
            rig.sleep(100)
    rig.sleep(2 * 3_600_000)
    rig.close()
    told = (tmp_path / "run.jsonl").read_text()
    causes = ("timed_out", "markers_written", "id_expired", "transaction_aborted")
    assert [told.count(f'"cause":"{cause}"') for cause in causes] == [1, 2, 1, 1]
    result = replay(tmp_path / "run.jsonl")
    assert result.difference is None and result.rows > 30, result


def test_commands_on_transactions_are_replayed(tmp_path: Path) -> None:
    """One transaction is aborted by command, another fenced while its markers are held, and finally the id expires."""
    rig = WireRig.make(topics={"t": 1}, seed=3, sinks=[FileSink(str(tmp_path / "run.jsonl"), never)])
    wire = rig.connect()
    for orders in (["abort_transaction"], ["hold_markers", "fence_transaction", "release_markers", "expire_transactional_id"]):
        given = wire.ask(22, 4, InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=500), "anna")
        asked = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=given.producer_id,
            v3_and_below_producer_epoch=given.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[0])],
        )
        wire.ask(24, 3, asked, "anna")
        for name in orders:
            rig.driver.submit(Command(name, {"transactional_id": "x"}))
    rig.close()
    result = replay(tmp_path / "run.jsonl")
    assert result.difference is None and result.rows > 15, result
    told = (tmp_path / "run.jsonl").read_text()
    causes = ("abort_ordered", "fence_ordered", "markers_held", "markers_written", "expiry_ordered")
    assert [told.count(f'"cause":"{cause}"') for cause in causes] == [1, 2, 1, 2, 1]
    by_order = "the coordinator was told to fence whoever has this id, as if a newer producer had come"
    assert [line[11:] for line in tell_id(read(tmp_path / "run.jsonl")[1], "x")][-8:] == [
        "ordered by the test: fence_transaction transactional_id=x",
        f"transactional id x (Ongoing -> PrepareAbort): {by_order}",
        "transactional id x: markers of 1 partition are held back until they are released",
        "ordered by the test: release_markers transactional_id=x",
        "transactional id x (PrepareAbort -> CompleteAbort): markers are in 1 partition",
        f"transactional id x (CompleteAbort -> Empty): {by_order}",
        "ordered by the test: expire_transactional_id transactional_id=x",
        "transactional id x: the coordinator was told to forget this transactional id, as if nobody had used it for long",
    ]
