"""Repeated ingests put real journals into a lake without losing or repeating a line, and count everything. The tests in
tests/live/pipeline_kill kill ingests."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pytest
import zstandard
from cases import for_each

from groupmock.cli import main
from groupmock.journal.file import FileSink
from groupmock.journal.journal import Journal
from groupmock.journal.read import read as read_journal
from groupmock.journal.rows import END, Header, NoteRow
from groupmock_pipeline import schema, tables
from groupmock_pipeline.errors import BadInput, Overtaken
from groupmock_pipeline.ingest import files
from groupmock_pipeline.jobs import ingest as job
from groupmock_pipeline.lake import sink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType

SEED = 20261122
GOOD = [
    '{"kind":"note","seq":%d,"t":%d,"what":"x"}',
    '{"kind":"timer","seq":%d,"t":%d}',
    '{"kind":"member","seq":%d,"t":%d,"group":"g","member_id":"m","what":"added","reason":"r"}',
]
BAD = [
    '{"kind":"no',
    "x",
    '{"kind":"other","seq":%d,"t":%d}',
    '{"kind":"note","seq":%d,"t":"%d","what":"x"}',
    '{"kind":"note","t":%d%d,"what":"x"}',
]
NAMES: Final = ("a b.jsonl", "50%.jsonl", "%20.jsonl", "a+b,c.jsonl", "[x]{y}*.jsonl", "é#?.jsonl")
LONG = json.dumps({"kind": "note", "seq": 1, "t": 1, "what": "x" * (1 << 20)})


def header(run: str, epoch: int = 1_790_000_000_000_000_000, **more: Any) -> str:
    head = {"v": 1, "run": run, "product": "p", "seed": 1, "epoch_ns": epoch, "profile": "g", "config": {"a": 1}, "complete": False}
    return json.dumps(head | more)


def notes(first: int, last: int) -> list[str]:
    return [f'{{"kind":"note","seq":{number},"t":{number * 10},"what":"n{number}"}}' for number in range(first, last + 1)]


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def mixture(path: Path, dice: random.Random) -> Counter[str]:
    """Write a journal of good, broken and blank lines and return the number of each."""
    kinds = dice.choices(["rows", "quarantined", "blank"], [6, 3, 1], k=dice.randrange(40))
    texts = {"rows": GOOD, "quarantined": BAD, "blank": ["", " ", "\r"]}
    lines = []
    for number, kind in enumerate(kinds, 1):
        text = dice.choice(texts[kind])
        lines.append(text % (number, number * 7) if "%" in text else text)
    write(path, header(path.stem), *lines)
    return Counter(kinds) + Counter(header=1, lines=1 + len(kinds))


def dated(path: Path, seconds: float) -> None:
    """Set the modification time so many seconds from now: with -3600 the journal counts as finished, and with 86400 as still being
    written."""
    when = time.time() + seconds
    os.utime(path, (when, when))


def snapshot(lake: Path) -> dict[str, tuple[int, int]]:
    """Return each file of the lake with the data that would change if the file were written again."""
    found = [path for path in lake.rglob("*") if path.is_file()]
    return {str(path.relative_to(lake)): (path.stat().st_mtime_ns, path.stat().st_ino) for path in found}


def ingest(spark: SparkSession, source: Path | str, lake: Path, **flags: Any) -> None:
    given = {"input": str(source), "output": str(lake), "line_limit": 1, "silence": 60.0, "follow": None} | flags
    job.run(spark, argparse.Namespace(**given))


def runs(spark: SparkSession, lake: Path) -> dict[str, Row]:
    return {Path(row.file).name: row for row in tables.read(spark, str(lake), "runs").collect()}


class Stage(NamedTuple):
    """A lake after an ingest: the ledger by file name, the number of rows per file, and the quarantine."""

    runs: dict[str, Row]
    rows: Counter[str]
    quarantine: list[Row]


class Story(NamedTuple):
    """The history of one lake from its first ingest to journals that arrived later."""

    source: Path
    lake: Path
    counts: dict[str, Counter[str]]
    first: Stage
    other_way: list[set[str]]
    this_way: list[set[str]]
    before_again: dict[str, tuple[int, int]]
    after_again: dict[str, tuple[int, int]]
    last: Stage


def real_journals(folder: Path) -> None:
    """Write a scenario's journal, its compressed and truncated copies, and another run with the same header."""
    assert main(["scenario", "run", "death-in-time", "--protocol", "design-2", "--members", "2", "--journal", str(folder)]) == 0
    one, other = sorted(folder.glob("death-*.jsonl"))
    data = one.read_bytes()
    head, _, _ = data.partition(b"\n")
    _, _, rest = other.read_bytes().partition(b"\n")
    one.rename(folder / "b-one.jsonl")
    other.unlink()
    (folder / "b-twin.jsonl").write_bytes(head + b"\n" + rest)
    (folder / "c-copy.jsonl.gz").write_bytes(gzip.compress(data))
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "c-copy.jsonl.zst").write_bytes(zstandard.compress(data))
    (folder / "a-cut.jsonl.gz").write_bytes(gzip.compress(data)[:-4000])
    half = data.index(b"\n", len(data) // 2)
    (folder / "a-cut.jsonl.zst").write_bytes(zstandard.compress(data[:half]) + zstandard.compress(data[half:])[:-100])


def odd_journals(folder: Path) -> None:
    write(folder / "backwards.jsonl", header("backwards"), *notes(1, 3), *notes(6, 7), *notes(2, 2), *notes(9, 9))
    write(folder / "newer.jsonl", header("newer", v=2), *notes(1, 2))
    write(folder / "live.jsonl", header("live"), *notes(1, 5))
    write(folder / "begun.jsonl", header("begun"), *notes(1, 5))
    (folder / "mark.jsonl").write_text(f"\ufeff{header('mark')}\n{notes(1, 1)[0]}\njunk\n")
    (folder / "torn.jsonl").write_text(f"{header('torn')}\n{notes(1, 1)[0]}\n" + notes(2, 2)[0][:-9])
    (folder / "unended.jsonl.zst").write_bytes(zstandard.compress(f"{header('unended')}\n{notes(1, 1)[0]}".encode()))
    for name in NAMES:
        write(folder / "odd names" / name, header(name), *notes(1, 2))
    write(folder / "no-header.jsonl", *notes(1, 4))
    write(folder / "long.jsonl", header("long"), LONG, *notes(2, 2))
    (folder / "wide.jsonl").write_bytes((header("wide") + "\n" + "\n".join(notes(1, 2))).encode("utf-16"))
    (folder / "latin.jsonl").write_bytes((header("latin") + '\n{"kind":"note","seq":1,"t":1,"what":"\xe9"}\n').encode("latin-1"))
    write(folder / "slow.jsonl", header("slow"), *notes(1, 1000))
    limited_journal(folder / "limited.jsonl")
    write(folder / "notes.txt", "no journal")
    write(folder / "_hidden.jsonl", header("hidden"))


def limited_journal(path: Path) -> None:
    """Write a journal with a size limit, 1,000 rows and an end."""

    def failed(reason: str) -> None:
        raise AssertionError(reason)

    journal = Journal(msgspec.json.decode(header("limited"), type=Header), [FileSink(str(path), failed, 16_384)])
    journal.begin()
    for number in range(1000):
        journal.append(NoteRow(t=number, what="\u2028 and so on"))
    journal.append(NoteRow(t=1000, what=END))
    journal.close()


def stage(spark: SparkSession, lake: Path) -> Stage:
    rows = tables.read(spark, str(lake), "rows").groupBy("file").count().collect()
    quarantine = tables.read(spark, str(lake), "quarantine").collect()
    return Stage(runs(spark, lake), Counter({Path(row.file).name: row["count"] for row in rows}), quarantine)


def contents(spark: SparkSession, lake: Path) -> list[set[str]]:
    """Return the content of all tables without the numbers of the ingests that wrote the rows."""
    found = (tables.read(spark, str(lake), name).drop(schema.TAKE) for name in ("rows", "runs", "quarantine"))
    return [set(map(repr, table.collect())) for table in found]


def later_journals(folder: Path) -> None:
    """Add journals that arrive, grow, and replace another."""
    write(folder / "live.jsonl", header("live"), *notes(1, 9), '{"kind":"note","seq":10,"t":100,"what":"end"}')
    dated(folder / "live.jsonl", 86_400)
    write(folder / "begun.jsonl", header("begun"), *notes(1, 5))
    write(folder / "backwards.jsonl", header("another run at the same place"), *notes(1, 1))
    better = gzip.decompress((folder / "c-copy.jsonl.gz").read_bytes()) + b'{"kind":"note","seq":99999,"t":1,"what":"later"}\n'
    (folder / "d-better.jsonl").write_bytes(better)
    (folder / "garbage.jsonl.gz").write_bytes(b"this is no gzip")
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "empty.jsonl.gz").write_bytes(gzip.compress(b""))
    for name in ("begun.jsonl", "backwards.jsonl", "d-better.jsonl", "garbage.jsonl.gz", "empty.jsonl", "empty.jsonl.gz"):
        dated(folder / name, -3600)


@pytest.fixture(scope="module")
def story(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("ingest")
    source, lake, other = folder / "in", folder / "lake", folder / "other"
    dice = random.Random(SEED)
    counts = {f"mixed-{number}.jsonl": mixture(source / f"mixed-{number}.jsonl", dice) for number in range(6)}
    real_journals(source)
    odd_journals(source)
    for path in source.rglob("*"):
        dated(path, -3600)
    dated(source / "begun.jsonl", 86_400)
    ingest(spark, source, lake)
    first, this_way = stage(spark, lake), contents(spark, lake)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "WHOLE", 0)
        ingest(spark, source, other)
    other_way = contents(spark, other)
    (source / "begun.jsonl").unlink()
    before = snapshot(lake)
    ingest(spark, source, lake)
    after = snapshot(lake)
    later_journals(source)
    ingest(spark, source, lake)
    return Story(source, lake, counts, first, other_way, this_way, before, after, stage(spark, lake))


def test_long_journals_line_by_line_give_the_very_same_tables(story: Story) -> None:
    for one, other in zip(story.this_way, story.other_way, strict=True):
        assert one and one == other


def test_counts_of_every_file_add_up(story: Story) -> None:
    print(f"seed {SEED}")
    for runs, rows, quarantine in (story.first, story.last):
        for name, row in runs.items():
            assert row.lines == row.header + row.rows + row.quarantined + row.duplicates + row.blank, name
            if name != "backwards.jsonl":  # The name backwards.jsonl is left out, because the journals of two runs have it.
                assert row.rows == rows[name], name
                assert row.quarantined == sum(Path(each.file).name == name for each in quarantine), name
    for name, expected in story.counts.items():
        measured = {each: story.first.runs[name][each] for each in ("lines", "header", "rows", "quarantined", "blank")}
        assert measured == {each: expected[each] for each in measured}, name


def test_of_a_limited_journal_is_taken_what_there_is(story: Story) -> None:
    """The lake gets the rows that exist and two notes about missing rows, and the journal counts as unfinished."""
    journal, rows = read_journal(story.source / "limited.jsonl")
    told, left_out = story.first.runs["limited.jsonl"], journal.left_out
    assert left_out is not None and left_out.rows == 1001 - len(rows) > 0
    assert (told.rows, told.quarantined, told.problem, told.ended, told.gaps, told.backwards) == (len(rows) + 2, 0, None, False, 1, 0)


def test_lines_are_numbered_as_in_the_file(story: Story) -> None:
    for row in story.first.quarantine:
        if Path(row.file).name.startswith("mixed"):
            assert row.text == Path(row.file).read_text().split("\n")[row.line - 1]
            assert row.reason and row.day == "2026-09-21"


def test_two_runs_with_one_header_are_two_and_copies_are_counted(story: Story) -> None:
    one, twin = story.first.runs["b-one.jsonl"], story.first.runs["b-twin.jsonl"]
    assert one.digest == twin.digest and one.run != twin.run
    plain = (story.source / "b-one.jsonl").read_bytes().count(b"\n") - 1
    assert (one.rows, one.duplicate_of, one.ended) == (plain, None, True)
    assert twin.rows == (story.source / "b-twin.jsonl").read_bytes().count(b"\n") - 1 and twin.duplicate_of is None
    for name in ("c-copy.jsonl.gz", "c-copy.jsonl.zst"):
        assert (story.first.runs[name].rows, story.first.runs[name].duplicates, story.first.runs[name].problem) == (0, plain, None), name
        assert story.first.runs[name].duplicate_of == one.file
    for name in ("a-cut.jsonl.gz", "a-cut.jsonl.zst"):
        cut = story.first.runs[name]
        assert cut.duplicate_of == one.file and 0 < cut.duplicates < plain and (cut.rows, cut.quarantined) == (0, 1), name
        assert cut.problem.startswith("cut: ") and not cut.ended


def test_odd_files_have_clear_outcomes(story: Story) -> None:
    first = story.first.runs
    assert first["slow.jsonl"].rows == story.first.rows["slow.jsonl"] == 1000
    assert (first["backwards.jsonl"].rows, first["backwards.jsonl"].backwards, first["backwards.jsonl"].gaps) == (7, 1, 3)
    assert (first["newer.jsonl"].v, first["newer.jsonl"].rows) == (2, 2)
    assert (first["no-header.jsonl"].quarantined, first["no-header.jsonl"].header) == (4, 0)
    assert first["no-header.jsonl"].problem == "the first line is a row already" and first["no-header.jsonl"].day == "unknown"
    assert (first["wide.jsonl"].rows, first["wide.jsonl"].quarantined) == (0, 3)
    assert first["wide.jsonl"].problem == "not UTF-8; the file begins as UTF-16 does"
    assert (first["latin.jsonl"].rows, first["latin.jsonl"].quarantined) == (0, 1)
    assert {row.reason for row in story.first.quarantine if row.file.endswith("/long.jsonl")} == {
        f"over-long: {len(LONG)} bytes in one line"
    }
    assert not {"notes.txt", "_hidden.jsonl"} & set(first)
    assert (first["torn.jsonl"].rows, first["torn.jsonl"].quarantined, first["torn.jsonl"].problem) == (1, 1, None)
    assert (first["mark.jsonl"].rows, first["mark.jsonl"].quarantined, first["mark.jsonl"].header) == (1, 1, 1)
    assert (first["unended.jsonl.zst"].rows, first["unended.jsonl.zst"].quarantined, first["unended.jsonl.zst"].lines) == (1, 1, 3)
    reasons = {Path(row.file).name: row.reason for row in story.first.quarantine}
    assert reasons["torn.jsonl"] == "cut: the file ends within this line: not JSON"
    assert reasons["unended.jsonl.zst"] == "cut: the packed data ends within a line"
    assert (reasons["mark.jsonl"], reasons["latin.jsonl"]) == ("not JSON", "not UTF-8")
    assert (first["live.jsonl"].ended, first["live.jsonl"].first_at) == (False, 1_790_000_000_000_000_010)


def test_files_are_called_as_people_call_them(story: Story) -> None:
    assert {name for name in story.first.runs if name in NAMES} == set(NAMES)
    for name in NAMES:
        assert (story.first.runs[name].file, story.first.rows[name]) == (str(story.source / "odd names" / name), 2)


def test_the_same_input_again_writes_nothing(story: Story) -> None:
    assert story.before_again == story.after_again
    assert any("/_part=rows/day=2023-11-14/" in name for name in story.after_again)


def test_a_journal_is_taken_when_it_ended_or_was_silent_and_again_when_it_grew(story: Story) -> None:
    assert "begun.jsonl" not in story.first.runs and story.last.rows["begun.jsonl"] == 5
    assert story.first.rows["live.jsonl"] == 5
    live = story.last.runs["live.jsonl"]
    assert (live.rows, live.ended, story.last.rows["live.jsonl"]) == (10, True, 10), "it ended, however young it is"
    assert story.last.rows["backwards.jsonl"] == 7 + 1, "the rows of both runs that were written to one place"
    assert story.last.runs["slow.jsonl"].take == story.first.runs["slow.jsonl"].take


def test_of_what_cannot_be_read_the_ledger_says_so(story: Story) -> None:
    garbage, empty = story.last.runs["garbage.jsonl.gz"], story.last.runs["empty.jsonl.gz"]
    assert (garbage.problem, garbage.lines, garbage.day) == ("nothing of it can be read", 0, "unknown")
    assert (empty.problem, empty.lines, empty.header) == ("the file is empty", 0, 0)
    assert "empty.jsonl" not in story.last.runs, "nothing is in it that could be journal"


def test_a_better_copy_takes_the_place_of_the_one_before(story: Story) -> None:
    better, one = story.last.runs["d-better.jsonl"], story.last.runs["b-one.jsonl"]
    assert better.rows == one.duplicates + 1 and one.rows == 0
    copies = ("b-one.jsonl", "c-copy.jsonl.gz", "c-copy.jsonl.zst", "a-cut.jsonl.gz")
    assert {story.last.runs[name].duplicate_of for name in copies} == {better.file}
    assert story.last.rows["d-better.jsonl"] == better.rows and "b-one.jsonl" not in story.last.rows


def test_what_cannot_be_used_is_said_in_a_sentence(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    journal = write(tmp_path / "j" / "a.jsonl", header("a"))
    lake, old = tmp_path / "lake", tmp_path / "old"
    spark.createDataFrame([], schema.RUNS).write.parquet(str(old / "runs"))
    cases: list[tuple[Path, Path, dict[str, Any], str]] = [
        (tmp_path / "none", lake, {}, "no such file or folder"),
        (tmp_path / "*.nothing", lake, {}, "no such file or folder, and no glob that finds one"),
        (tmp_path / "empty", lake, {}, r"no journal is there: their names end in \.jsonl, \.jsonl\.gz or \.jsonl\.zst"),
        (journal, old, {}, "old was made by an older groupmock, a folder for each run: ingest its journals into a new folder"),
        (journal, lake, {"follow": 0.0}, "--follow 0: give more than 0 seconds"),
        (journal, lake, {"silence": -1.0}, "--silence -1: give 0 or more seconds"),
        (journal, lake, {"line_limit": 0}, "--line-limit 0: give at least 1 MiB"),
    ]
    for source, output, flags, said in cases:
        with pytest.raises(BadInput, match=said):
            ingest(spark, source, output, **flags)
    assert not lake.exists()


def ended(path: Path) -> None:
    write(path, header(path.stem), *notes(1, 3), json.dumps({"kind": "note", "seq": 4, "t": 50, "what": END}))


@for_each(("other", "names"), [("late", {"one.jsonl"}), ("quicker", {"one.jsonl", "two.jsonl"})])
def test_an_ingest_that_is_overtaken_before_its_take_is_counted_counts_it_all_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, other: str, names: set[str]
) -> None:
    """An ingest that overtakes another one either leaves an empty batch or reads another journal and counts the rows of both.
    `tools.pipeline_proof` once saw two ingests that overtook each other, so that neither did its work."""
    commit, beaten = sink.commit, list[int]()

    def beaten_once(due: sink.Due, lines: DataFrame, counted: Mapping[str, Column], told: Mapping[str, StructType]) -> sink.Counts:
        if not counted and not beaten:  # This call is the moment at which the ingest is about to write the ledger.
            beaten.append(due.number)
            if other == "quicker":
                ended(tmp_path / "other" / "two.jsonl")
                ingest(spark, tmp_path / "other", tmp_path / "lake")
            else:
                with pytest.raises(Overtaken):
                    commit(sink.due(spark, due.path, sink.NOTHING, 0), lines, {}, {})
        return commit(due, lines, counted, told)

    monkeypatch.setattr(sink, "commit", beaten_once)
    ended(tmp_path / "in" / "one.jsonl")
    with caplog.at_level("INFO"):
        ingest(spark, tmp_path / "in", tmp_path / "lake")
    assert beaten == [1]
    assert caplog.messages[-1] == "ingest: 1 journals read, 0 known already: 4 rows, 0 lines to the quarantine, 0 duplicates"
    assert {name: (row.rows, row.ended) for name, row in runs(spark, tmp_path / "lake").items()} == dict.fromkeys(names, (4, True))
    assert tables.read(spark, str(tmp_path / "lake"), "rows").count() == 4 * len(names)


@for_each("takes", [["one.jsonl"], ["one.jsonl", "damaged.jsonl.gz"]])
def test_a_batch_of_nothing_keeps_no_ingest_from_its_take(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: list[str]
) -> None:
    """An ingest writes an unreadable journal in a second batch, after the readable ones. `tools.pipeline_proof` once saw two ingests, 3
    s apart, that both exited with 2, because one left an empty batch in place of the other's second take."""
    commit, begun = sink.commit, list[int]()

    def late_once(due: sink.Due, lines: DataFrame, counted: Mapping[str, Column], told: Mapping[str, StructType]) -> sink.Counts:
        begun.append(due.number)
        if len(begun) == len(takes):
            with pytest.raises(Overtaken):
                commit(sink.due(spark, due.path, sink.NOTHING, 0)._replace(number=99), nothing, {}, {})
        return commit(due, lines, counted, told)

    nothing = spark.range(0).selectExpr(f"'rows' as {sink.PART}", f"'' as {sink.DAY}")
    ended(tmp_path / "in" / takes[0])
    for name in takes[1:]:
        whole = gzip.compress((tmp_path / "in" / takes[0]).read_bytes().replace(b"one", b"two"))
        (tmp_path / "in" / name).write_bytes(whole[:-12])
    monkeypatch.setattr(sink, "commit", late_once)
    ingest(spark, tmp_path / "in", tmp_path / "lake", silence=0.0)
    number = len(takes) - 1
    # The batch numbers show that an empty batch overtook the ingest, which tried again and then wrote the ledger.
    assert begun[number:] == [number, number + 2, number + 3]
    assert {name: row.problem is None for name, row in runs(spark, tmp_path / "lake").items()} == {name: name == takes[0] for name in takes}


def test_of_what_an_ingest_asked_more_than_once_a_session_keeps_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Spark compares each later query with all cached plans, and a session with --follow failed at the fourteenth cached copy."""
    spark.catalog.clearCache()
    rows = [GOOD[0] % (number, number) for number in (1, 2)]
    for name in ("one", "twin"):
        write(tmp_path / "in" / f"{name}.jsonl", header("same"), *rows, f'{{"kind":"note","seq":3,"t":3,"what":"{END}"}}')
        ingest(spark, tmp_path / "in", tmp_path / "lake")
        assert spark._jsparkSession.sharedState().cacheManager().isEmpty(), name
    assert [row.duplicates for row in runs(spark, tmp_path / "lake").values()] in ([3, 0], [0, 3])
