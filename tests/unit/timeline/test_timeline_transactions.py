"""A timeline shows transactions, and what they keep from readers of committed records."""

from __future__ import annotations

from pathlib import Path

from kitchen_of_two import Kitchen
from rig_journal import never

from groupmock.journal.file import FileSink
from groupmock.journal.rows import Header
from groupmock.timeline.drawing import Drawing, of_journal
from groupmock.timeline.model import HeldBack, Source
from groupmock.timeline.scene import scene_of


def drawn(kitchen: Kitchen) -> Source:
    drawing = Drawing()
    return drawing.add("kitchen", list(kitchen.ring.rows))


def test_transactions_are_open_until_their_markers_are_written() -> None:
    kitchen = Kitchen()
    kitchen.begin()
    kitchen.sleep(800)
    kitchen.end()
    kitchen.begin()
    kitchen.rig.command("abort_transaction", transactional_id="till")
    kitchen.begin()
    (lane,) = drawn(kitchen).transactions
    assert lane.name == "till"
    found = [(each.outcome, each.until is None, each.partitions) for each in lane.transactions]
    assert found == [("committed", False, "orders/0"), ("aborted", False, "orders/0"), ("", True, "orders/0")]
    assert [(each.kind, each.title) for each in lane.events] == [("command", "abort_transaction")]


def test_an_open_transaction_holds_back_what_is_written_behind_it() -> None:
    kitchen = Kitchen()
    kitchen.produce("orders", 0, 4)
    kitchen.begin()
    began = kitchen.rig.clock.now()
    kitchen.produce("orders", 0, 6)
    kitchen.fetch(4, isolation_level=1)
    kitchen.sleep(0)
    source = drawn(kitchen)
    assert source.held_back == [HeldBack(began, "orders/0", "till", 4, 7)]
    kitchen.sleep(500)
    kitchen.end()
    assert drawn(kitchen).held_back == [HeldBack(began, "orders/0", "till", 4, 7, kitchen.rig.clock.now())]


def test_the_picture_says_how_many_records_wait_behind_which_offset() -> None:
    kitchen = Kitchen()
    kitchen.begin()
    kitchen.sleep(0)
    drawing = Drawing()
    drawing.add("kitchen", list(kitchen.ring.rows))
    scene = scene_of(drawing.timeline())
    rows = {row.title: [scene.texts[item.label] for item in row.items] for row in scene.rows if row.kind in ("transactions", "held")}
    assert rows == {"till": ["open"], "orders/0 held back": ["stable offset 0 \u00b7 1 record behind it"]}


def test_a_journal_file_gives_the_same_transactions(tmp_path: Path) -> None:
    """Most answers of a file are not decoded; those with offsets are, as soon as there is a transaction."""
    kitchen = Kitchen()
    kitchen.begin()
    kitchen.produce("orders", 0, 2)
    kitchen.fetch(0, isolation_level=1)
    kitchen.sleep(0)
    sink = FileSink(str(tmp_path / "kitchen.jsonl"), never)
    sink.begin(Header(v=1, run="r", product="p", seed=3, epoch_ns=0, profile="p", config={}, complete=False, incomplete_because="a test"))
    for row in kitchen.ring.rows:
        sink.take(row)
    sink.close()
    (source,) = of_journal(str(tmp_path / "kitchen.jsonl")).sources
    assert [(each.offset, each.records) for each in source.held_back] == [(0, 3)]
    assert source.transactions == drawn(kitchen).transactions
