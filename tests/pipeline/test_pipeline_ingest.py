"""Journals into a lake, from real ones: killed in the middle, completed, repeated, followed as a stream; nothing lost, all counted."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
import zstandard
from benchmarks import spark_events
from spark_quick import SETTINGS as QUICK

from groupmock.cli import main
from groupmock.journal.file import FileSink
from groupmock.journal.journal import Journal
from groupmock.journal.read import read as read_journal
from groupmock.journal.rows import END, Header, NoteRow
from groupmock_pipeline import tables
from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.ingest import placing
from groupmock_pipeline.ingest.batch import BatchOutcome
from groupmock_pipeline.ingest.stream import started
from groupmock_pipeline.jobs import ingest as job
from groupmock_pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

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
    """A journal of good, broken and blank lines; returns how many there are of each."""
    kinds = dice.choices(["rows", "quarantined", "blank"], [6, 3, 1], k=dice.randrange(40))
    texts = {"rows": GOOD, "quarantined": BAD, "blank": ["", " ", "\r"]}
    lines = []
    for number, kind in enumerate(kinds, 1):
        text = dice.choice(texts[kind])
        lines.append(text % (number, number * 7) if "%" in text else text)
    write(path, header(path.stem), *lines)
    return Counter(kinds) + Counter(header=1, lines=1 + len(kinds))


def snapshot(lake: Path) -> dict[str, tuple[int, int]]:
    """Every file of the tables, with what would show that it was written again."""
    files = [path for table in ("rows", "runs", "quarantine") for path in (lake / table).rglob("*") if path.is_file()]
    return {str(path.relative_to(lake)): (path.stat().st_mtime_ns, path.stat().st_ino) for path in files}


def ingest(spark: SparkSession, source: Path, lake: Path, **flags: Any) -> None:
    given = {"input": str(source), "output": str(lake), "line_limit": 1, "stream": None, "follow": None} | flags
    job.run(spark, argparse.Namespace(**given))


def runs(spark: SparkSession, lake: Path) -> dict[str, Row]:
    return {Path(row.file).name: row for row in tables.read(spark, str(lake), "runs").collect()}


class Story(NamedTuple):
    """One lake, from the kill to the stream: what was seen on the way."""

    source: Path
    lake: Path
    counts: dict[str, Counter[str]]
    killed: list[str]
    first: dict[str, Row]
    rows: Counter[str]
    quarantine: list[Row]
    before_again: dict[str, tuple[int, int]]
    after_again: dict[str, tuple[int, int]]
    heard: list[BatchOutcome]
    streamed: dict[str, Row]
    streamed_rows: Counter[str]
    last: dict[str, tuple[int, int]]


def real_journals(folder: Path) -> None:
    """A scenario played with groupmock, its copies packed and cut, and another run that has the very same header."""
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
    write(folder / "no-header.jsonl", *notes(1, 4))
    write(folder / "long.jsonl", header("long"), LONG, *notes(2, 2))
    (folder / "wide.jsonl").write_bytes((header("wide") + "\n" + "\n".join(notes(1, 2))).encode("utf-16"))
    (folder / "latin.jsonl").write_bytes((header("latin") + '\n{"kind":"note","seq":1,"t":1,"what":"\xe9"}\n').encode("latin-1"))
    write(folder / "slow.jsonl", header("slow"), *notes(1, 1000))
    limited_journal(folder / "limited.jsonl")
    write(folder / "notes.txt", "no journal")
    write(folder / "_hidden.jsonl", header("hidden"))


def limited_journal(path: Path) -> None:
    """One whose size is limited, of 1,000 rows and its end."""

    def failed(reason: str) -> None:
        raise AssertionError(reason)

    journal = Journal(msgspec.json.decode(header("limited"), type=Header), [FileSink(str(path), failed, 16_384)])
    journal.begin()
    for number in range(1000):
        journal.append(NoteRow(t=number, what="\u2028 and so on"))
    journal.append(NoteRow(t=1000, what=END))
    journal.close()


def killed_in_the_middle(source: Path, lake: Path, folder: Path) -> list[str]:
    """Ingest in a process of its own, killed when its first Parquet file is seen. Returns the files that it left in the tables."""
    command = [sys.executable, "-m", "groupmock", "pipeline", "ingest", str(source), str(lake), "--master", "local[2]", "--line-limit", "1"]
    command += spark_events.flags(QUICK | {"spark.local.dir": str(folder)})
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not any(lake.glob("_ingest/batch-*/staged/**/*.parquet")):
            assert process.poll() is None, "it ended before anything was written"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert list(lake.glob("_ingest/batch-*"))
    return sorted(snapshot(lake))


def table_counts(spark: SparkSession, lake: Path) -> Counter[str]:
    found = tables.read(spark, str(lake), "rows").groupBy("file").count().collect()
    return Counter({Path(row.file).name: row["count"] for row in found})


@pytest.fixture(scope="module")
def story(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("ingest")
    source, lake, checkpoint = folder / "in", folder / "lake", folder / "checkpoint"
    dice = random.Random(SEED)
    counts = {f"mixed-{number}.jsonl": mixture(source / f"mixed-{number}.jsonl", dice) for number in range(6)}
    real_journals(source)
    odd_journals(source)
    killed = killed_in_the_middle(source, lake, folder)
    ingest(spark, source, lake)
    first, rows = runs(spark, lake), table_counts(spark, lake)
    quarantine = tables.read(spark, str(lake), "quarantine").collect()
    before = snapshot(lake)
    ingest(spark, source, lake)
    after = snapshot(lake)
    heard: list[BatchOutcome] = []
    query = started(spark, str(source), str(lake), str(checkpoint), 1 << 20, 0.2, heard.append)
    try:
        query.processAllAvailable()
        write(source / "live.jsonl", header("live"), *notes(1, 9), '{"kind":"note","seq":10,"t":100,"what":"end"}')
        write(source / "backwards.jsonl", header("another run at the same place"), *notes(1, 1))
        better = gzip.decompress((source / "c-copy.jsonl.gz").read_bytes()) + b'{"kind":"note","seq":99999,"t":1,"what":"later"}\n'
        (source / "d-better.jsonl").write_bytes(better)
        query.processAllAvailable()
    finally:
        query.stop()
    streamed, streamed_rows, last = runs(spark, lake), table_counts(spark, lake), snapshot(lake)
    ingest(spark, source, lake, stream=str(checkpoint))
    assert snapshot(lake) == last
    return Story(source, lake, counts, killed, first, rows, quarantine, before, after, heard, streamed, streamed_rows, last)


def test_a_killed_job_leaves_nothing_in_the_tables_and_the_next_one_completes(story: Story) -> None:
    assert story.killed == []
    assert story.first["slow.jsonl"].rows == story.rows["slow.jsonl"] == 1000
    assert os.listdir(story.lake / "_ingest") == ["lock"]


def test_counts_of_every_file_add_up(story: Story) -> None:
    print(f"seed {SEED}")
    for name, row in story.first.items():
        assert row.lines == row.header + row.rows + row.quarantined + row.duplicates + row.blank, name
        assert row.rows == story.rows[name], name
        assert row.quarantined == sum(Path(each.file).name == name for each in story.quarantine), name
    for name, expected in story.counts.items():
        measured = {each: story.first[name][each] for each in ("lines", "header", "rows", "quarantined", "blank")}
        assert measured == {each: expected[each] for each in measured}, name


def test_of_a_limited_journal_is_taken_what_there_is(story: Story) -> None:
    """Its rows and the two notes about those that it has not; it counts as one that did not end."""
    journal, rows = read_journal(story.source / "limited.jsonl")
    told, left_out = story.first["limited.jsonl"], journal.left_out
    assert left_out is not None and left_out.rows == 1001 - len(rows) > 0
    assert (told.rows, told.quarantined, told.problem, told.ended, told.gaps, told.backwards) == (len(rows) + 2, 0, None, False, 1, 0)


def test_lines_are_numbered_as_in_the_file(story: Story) -> None:
    for row in story.quarantine:
        if Path(row.file).name.startswith("mixed"):
            assert row.text == Path(row.file).read_text().split("\n")[row.line - 1]
            assert row.reason and row.day == "2026-09-21"


def test_two_runs_with_one_header_are_two_and_copies_are_counted(story: Story) -> None:
    one, twin = story.first["b-one.jsonl"], story.first["b-twin.jsonl"]
    assert one.digest == twin.digest and one.run != twin.run
    plain = (story.source / "b-one.jsonl").read_bytes().count(b"\n") - 1
    assert (one.rows, one.duplicate_of, one.ended) == (plain, None, True)
    assert twin.rows == (story.source / "b-twin.jsonl").read_bytes().count(b"\n") - 1 and twin.duplicate_of is None
    for name in ("c-copy.jsonl.gz", "c-copy.jsonl.zst"):
        assert (story.first[name].rows, story.first[name].duplicates, story.first[name].problem) == (0, plain, None), name
        assert story.first[name].duplicate_of == one.file
    for name in ("a-cut.jsonl.gz", "a-cut.jsonl.zst"):
        cut = story.first[name]
        assert cut.duplicate_of == one.file and 0 < cut.duplicates < plain and (cut.rows, cut.quarantined) == (0, 1), name
        assert cut.problem.startswith("cut: ") and not cut.ended


def test_odd_files_have_clear_outcomes(story: Story) -> None:
    first = story.first
    assert (first["backwards.jsonl"].rows, first["backwards.jsonl"].backwards, first["backwards.jsonl"].gaps) == (7, 1, 3)
    assert (first["newer.jsonl"].v, first["newer.jsonl"].rows) == (2, 2)
    assert (first["no-header.jsonl"].quarantined, first["no-header.jsonl"].header) == (4, 0)
    assert first["no-header.jsonl"].problem == "the first line is a row already" and first["no-header.jsonl"].day == "unknown"
    assert (first["wide.jsonl"].rows, first["wide.jsonl"].quarantined) == (0, 3)
    assert first["wide.jsonl"].problem == "not UTF-8, from byte 1 of the line; the file begins as UTF-16 does"
    assert (first["latin.jsonl"].rows, first["latin.jsonl"].quarantined) == (0, 1)
    assert {row.reason for row in story.quarantine if row.file.endswith("/long.jsonl")} == {f"over-long: {len(LONG)} bytes in one line"}
    assert not {"notes.txt", "_hidden.jsonl"} & set(first)
    assert (first["live.jsonl"].ended, first["live.jsonl"].first_at) == (False, 1_790_000_000_000_000_010)


def test_the_same_input_again_writes_nothing(story: Story) -> None:
    assert story.before_again == story.after_again
    assert any(name.startswith("rows/day=2023-11-14/run=") for name in story.after_again)


def test_the_stream_reads_what_arrives_what_grew_and_nothing_else(story: Story) -> None:
    assert sum(outcome.files for outcome in story.heard) == 3
    assert story.streamed_rows["backwards.jsonl"] == 7 + 1, "the rows of both runs that were written to one place"
    live = story.streamed["live.jsonl"]
    assert (live.rows, live.ended, story.streamed_rows["live.jsonl"]) == (10, True, 10)
    untouched = {name for name in story.after_again if "/run=slow-" in name or "/run=mixed_" in name}
    assert untouched and all(story.last[name] == story.after_again[name] for name in untouched)


def test_a_better_copy_takes_the_place_of_the_one_before(story: Story) -> None:
    better, one = story.streamed["d-better.jsonl"], story.streamed["b-one.jsonl"]
    assert better.rows == one.duplicates + 1 and one.rows == 0
    copies = ("b-one.jsonl", "c-copy.jsonl.gz", "c-copy.jsonl.zst", "a-cut.jsonl.gz")
    assert {story.streamed[name].duplicate_of for name in copies} == {better.file}
    assert story.streamed_rows["d-better.jsonl"] == better.rows and "b-one.jsonl" not in story.streamed_rows
    for name, row in story.streamed.items():
        assert row.lines == row.header + row.rows + row.quarantined + row.duplicates + row.blank, name


@pytest.mark.parametrize("done", range(4))
def test_killed_after_it_was_decided_the_moves_are_made_by_the_next_one(done: int, spark: SparkSession, tmp_path: Path) -> None:
    for name in ("new/run=same", "new/run=more", "runs"):
        write(tmp_path / "_ingest/batch-1" / name / "part", f"_ingest/batch-1/{name}")
    for name in ("rows/run=old", "rows/run=same", "runs"):
        write(tmp_path / name / "part", name)
    staged = [(f"rows/run={each}", f"_ingest/batch-1/new/run={each}") for each in ("same", "more")]
    moves = placing.plan(staged, ["rows/run=old", "rows/run=same"], "_ingest/batch-1/runs")
    assert [target for target, _ in moves] == ["rows/run=old", "rows/run=same", "rows/run=more", "runs"]
    storage = Storage(spark, str(tmp_path))
    storage.write("_ingest/batch-1/moves.json", json.dumps(moves))
    for target, source in moves[:done]:
        shutil.rmtree(tmp_path / target, ignore_errors=True)
        if source:
            (tmp_path / source).rename(tmp_path / target)
    (tmp_path / "_ingest" / "batch-2" / "new").mkdir(parents=True)
    placing.recover(storage)
    assert sorted(os.listdir(tmp_path / "rows")) == ["run=more", "run=same"]
    assert (tmp_path / "rows/run=same/part").read_text() == "_ingest/batch-1/new/run=same\n"
    assert (tmp_path / "runs/part").read_text() == "_ingest/batch-1/runs\n"
    assert os.listdir(tmp_path / "_ingest") == []


def test_what_cannot_be_used_is_said_in_a_sentence(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    journal = write(tmp_path / "j" / "a.jsonl", header("a"))
    lake = tmp_path / "lake"
    cases: list[tuple[Path | str, Path, dict[str, Any], str]] = [
        (tmp_path / "none", lake, {}, "no such file or folder"),
        (tmp_path / "*.nothing", lake, {}, "no such file or folder, and no glob that finds one"),
        (tmp_path / "empty", lake, {}, r"no journal is there: their names end in \.jsonl, \.jsonl\.gz or \.jsonl\.zst"),
        (journal, journal, {}, "a.jsonl is a file: name a folder for the lake"),
        (journal, journal.parent, {}, "is no lake: a.jsonl is in it; name a new or an empty folder"),
        ("s3a://bucket/j", lake, {}, "s3a://bucket/j: journals are read from folders that every worker sees"),
        (journal, lake, {"stream": "c"}, "--stream watches a folder or a glob, which this is not"),
        (journal, lake, {"follow": 3.0}, "--follow SECONDS goes with --stream"),
        (journal, lake, {"line_limit": 0}, "--line-limit 0: give at least 1 MiB"),
    ]  # fmt: skip
    for source, output, flags, said in cases:
        with pytest.raises(BadInput, match=said):
            ingest(spark, Path(source) if isinstance(source, Path) else source, output, **flags)  # type: ignore[arg-type]
    with Storage(spark, str(lake)).locked(placing.LOCK), pytest.raises(BadInput, match="another ingest is at work"):
        ingest(spark, journal, lake)
    ingest(spark, tmp_path / "empty", lake, stream=str(tmp_path / "checkpoint"))
    assert not (lake / "runs").exists()
