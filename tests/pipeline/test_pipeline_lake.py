"""In a lake of complete, truncated, incomplete, limited and odd journals, `audit` judges each journal rightly and `export` returns the
same lines."""

from __future__ import annotations

import gzip
import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import Row, SparkSession
from recorded_journals import FOLDER

from groupmock.audit.offline import audit_journal
from groupmock.audit.verdicts import NOT_EXERCISED, UNKNOWN
from groupmock.journal.read import read
from groupmock.journal.rows import LEFT_OUT
from groupmock_pipeline import tables
from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.jobs import audit, export, ingest

DAMAGED = ("cut", "hole", "limited")


def options(job: Any, source: Path, target: Path, *words: str) -> Namespace:
    parser = ArgumentParser()
    job.add_arguments(parser)
    parsed = parser.parse_args(words)
    parsed.input, parsed.output = str(source), str(target)
    return parsed


def damaged(whole: list[bytes]) -> dict[str, bytes]:
    """Return the journal's lines with several kinds of damage."""
    return {
        "cut": b"\n".join(whole)[:-40],
        "hole": b"\n".join([*whole[:30], *whole[34:]]) + b"\n",
        "limited": b"\n".join([*whole[:40], left_out(json.loads(whole[40]))]) + b"\n",
    }


def left_out(row: dict[str, Any]) -> bytes:
    """Return the note that a journal has in place of a row that was left out."""
    fields = {"first": row["seq"], "max_bytes": 1000, "rows": 9}
    return json.dumps({"kind": "note", "seq": row["seq"], "t": row["t"], "what": LEFT_OUT, "fields": fields}).encode()


def odd(whole: list[bytes]) -> bytes:
    """Return a journal with an unknown field and nested values of every kind."""
    header, *rows = map(json.loads, whole[:40])
    rows[3] |= {"later": {"a": [1]}}
    rows += [{"kind": "note", "seq": 40, "t": 9, "what": "odd", "fields": {"text": '"\\\u2028\x01', "deep": [None, {"x": 1.5}]}}]
    return "\n".join(json.dumps(each) for each in [header | {"run": "odd/one"}, *rows]).encode() + b"\n"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("journals")
    for path in FOLDER.glob("*.jsonl.gz"):
        (folder / path.name.removesuffix(".gz")).write_bytes(gzip.decompress(path.read_bytes()))
    for number, (name, data) in enumerate(damaged((folder / "kafka-python.jsonl").read_bytes().splitlines()).items(), 1):
        # Journals with the same header would count as copies.
        (folder / f"{name}.jsonl").write_bytes(data.replace(b'"seed":', b'"seed":%d' % number, 1))
    (folder / "odd.jsonl").write_bytes(odd((folder / "struck.jsonl").read_bytes().splitlines()))
    return folder


@pytest.fixture(scope="module")
def lake(spark: SparkSession, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake") / "lake"
    ingest.run(spark, options(ingest, source, folder, "--silence", "0"))
    return folder


@pytest.fixture(scope="module")
def files(spark: SparkSession, lake: Path) -> dict[str, Path]:
    """Return the journal of each run."""
    return {row.run: Path(row.file) for row in tables.read(spark, str(lake), "runs").collect()}


# -- audit -------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged(spark: SparkSession, lake: Path, files: dict[str, Path]) -> dict[str, list[Row]]:
    """Return the lines of the audit table for each journal."""
    audit.run(spark, options(audit, lake, lake))
    found: dict[str, list[Row]] = {file.stem: [] for file in files.values()}
    for line in tables.read(spark, str(lake), "audit").collect():
        found[files[line.run].stem].append(line)
    return found


def test_what_is_missing_of_a_run_is_unknown_with_its_sentence(judged: dict[str, list[Row]], source: Path) -> None:
    missing = {name: line for name, lines in judged.items() for line in lines if line.rule is None}
    assert {line.verdict for line in missing.values()} == {UNKNOWN}
    last = len((source / "cut.jsonl").read_bytes().splitlines()) - 2
    assert {name: line.reason for name, line in missing.items()} == {
        "cut": f"1 of the journal's lines are no rows (table quarantine); it has no end after row {last}: the run goes on, or was killed",
        "hole": "rows 30 to 33 are missing",
        "limited": "9 rows from number 40 on are left out: the journal was limited to 1000 bytes",
        "odd": "it has no end after row 40: the run goes on, or was killed",
    }


def test_figures_are_those_of_the_audit_of_the_file(judged: dict[str, list[Row]], source: Path) -> None:
    for name, lines in judged.items():
        with (source / f"{name}.jsonl").open("rb") as file:
            expected = audit_journal(name, file)
        told = {code: [0, 0] for code in expected.audit.rules}
        for line in lines:
            if line.rule is not None:
                told[line.rule] = [told[line.rule][0] + line.kept, told[line.rule][1] + line.broken]
        assert told == {code: [tally.kept, tally.broken] for code, tally in expected.audit.rules.items()}, name
        unexercised = {line.rule for line in lines if line.verdict == NOT_EXERCISED}
        assert unexercised == {code for code, tally in expected.audit.rules.items() if tally.verdict == NOT_EXERCISED}, name
        assert bool(expected.audit.holes or expected.notices) == any(line.rule is None for line in lines), name


def test_a_rule_that_there_is_not(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--rule CLIENT-05x: there is no such rule; there are CLIENT-"):
        audit.run(spark, options(audit, tmp_path, tmp_path, "--rule", "CLIENT-05x"))


# -- export ------------------------------------------------------------------------------------------------------------------------------


def test_what_comes_out_is_what_went_in(spark: SparkSession, files: dict[str, Path], lake: Path, tmp_path: Path) -> None:
    export.run(spark, options(export, lake, tmp_path / "out"))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{run}.jsonl" for run in files}
    for run, file in files.items():
        (before, rows), (after, told) = read(file), read(tmp_path / "out" / f"{run}.jsonl")
        assert msgspec.to_builtins(after.header) == msgspec.to_builtins(before.header)
        assert told == rows
        assert (after.ended, after.cut, after.left_out, after.broken) == (before.ended, None, before.left_out, [])
        lines = (tmp_path / "out" / f"{run}.jsonl").read_text().splitlines()
        assert ("later" in lines[4]) == (file.name == "odd.jsonl")


def test_some_runs(spark: SparkSession, lake: Path, tmp_path: Path) -> None:
    export.run(spark, options(export, lake, tmp_path / "out", "--run", "odd_one-.*"))
    assert [path.name.startswith("odd_one-") for path in (tmp_path / "out").iterdir()] == [True]


@pytest.mark.parametrize(("pattern", "told"), [("nobody", "no run of .* matches 'nobody'"), ("(", "--run .: not a regular expression")])
def test_no_runs(spark: SparkSession, lake: Path, tmp_path: Path, pattern: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        export.run(spark, options(export, lake, tmp_path, "--run", pattern))


def test_a_file_where_the_folder_should_be(spark: SparkSession, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="file: File exists; name a folder"):
        export.run(spark, options(export, lake, tmp_path / "file"))
