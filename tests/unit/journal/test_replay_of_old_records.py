"""Records that expired when the clock was stepped expire at the same moments in a replay."""

from __future__ import annotations

from pathlib import Path

from groupmock import Broker
from groupmock.journal.read import read
from groupmock.journal.rows import NoteRow, TimerRow
from groupmock.rig.replay import replay


def test_what_age_took_is_taken_again_by_a_replay(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Broker(topics={"orders": 1, "kept": 1}, seed=5, journal=str(path)) as broker:
        broker.produce("orders", b"old")
        broker.step(8 * 24 * 3600)
        assert broker.records("orders") == []
        broker.produce("orders", b"new")
        broker.delete_topic("kept")
        broker.step(24 * 3600)
        assert [record.value for record in broker.records("orders")] == [b"new"]
        broker.create_topic("after", 1)
    _, rows = read(path)
    assert [row.timer for row in rows if isinstance(row, TimerRow)] == ["log_retention"]
    assert [row.fields for row in rows if isinstance(row, NoteRow) and row.what == "records_expired"] == [
        {"topic": "orders", "partition": 0, "log_start_offset": 1}
    ]
    result = replay(path)
    assert (result.difference, result.rows) == (None, len(rows))
