"""The job `faults` agrees with a count in plain Python, for random faults on the virtual clock and a recorded run with two groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from blast_reference import Blast, blast, refetched, strikes
from column_pages import documented
from fault_script import Run
from journal_frames import TEXT, read
from journal_frames import lines as table_lines
from pyspark.sql import DataFrame, Row, SparkSession
from recorded_journals import recorded

from groupmock.core import steering
from groupmock.rounds import rebalances
from groupmock.rounds.group_fold import LOADED
from groupmock_codec.group_states import STABLE
from groupmock_pipeline.fault_effects import strikes as words
from groupmock_pipeline.fault_effects.after import NO_GROUP
from groupmock_pipeline.fault_effects.refetched import refetched as fetched_again
from groupmock_pipeline.jobs import faults
from groupmock_pipeline.schema import ROWS, fields_of

SEEDS = range(30, 44)
Rows = dict[str, list[dict[str, Any]]]


def lines(path: Path, run: str) -> list[dict[str, Any]]:
    """Return a journal's rows in the columns of the table, with nested values as objects and all fields of their kind."""
    whole = [dict.fromkeys(fields_of(row["kind"])) | row for row in table_lines(run, read(path))]
    return [{name: json.loads(value) if name in TEXT and value is not None else value for name, value in row.items()} for row in whole]


def frame(spark: SparkSession, path: Path, rows: Rows) -> DataFrame:
    with path.open("w", encoding="utf-8") as file:
        for row in (row for run in rows.values() for row in run):
            texts = {name: json.dumps(row[name]) for name in TEXT if row.get(name) is not None}
            file.write(json.dumps(row | texts) + "\n")
    return spark.read.schema(ROWS).json(str(path))


def scripted(folder: Path) -> Rows:
    """Return the journals of scripted members under random faults and commands."""
    print(f"seeds {SEEDS}")
    for seed in SEEDS:
        Run(seed, folder / f"{seed}.jsonl").play()
    return {f"script-{seed}": lines(folder / f"{seed}.jsonl", f"script-{seed}") for seed in SEEDS}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    folder = tmp_path_factory.mktemp("faulted")
    told = lines(recorded("struck", folder), "live")
    unbroken = [row | {"run": "unbroken"} for row in told if row["kind"] not in ("fault", "command")]
    return scripted(folder) | {"live": told, "unbroken": unbroken}


@pytest.fixture(scope="module")
def table(spark: SparkSession, rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Row]:
    found = faults.faults(frame(spark, tmp_path_factory.mktemp("rows") / "rows.jsonl", rows))
    # The columns are compared, because a lake without faults must get a table with the same columns as any other.
    assert found.dtypes == spark.createDataFrame([], faults.SCHEMA).dtypes
    return {(line.run, line.seq): line for line in found.collect()}


@pytest.fixture(scope="module")
def expected(rows: Rows) -> dict[tuple[str, int], Blast]:
    return {
        (run, each[place]["seq"]): blast(each, place)
        for run, each in rows.items()
        for place in strikes(each, words.BREAKING)
    }  # fmt: skip


def test_every_command_breaks_or_mends() -> None:
    assert sorted(words.BREAKING + words.MENDING) == sorted(name for name, command in steering.load().items() if not command.on_rules)


def test_the_page_of_faults_has_every_column() -> None:
    assert documented("faults", faults.COLUMNS) == (set(), set())


def test_rows_are_shuffled_once_and_not_at_all_where_nothing_struck(
    spark: SparkSession, rows: Rows, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark shuffles three times: the rows of groups, the Fetches, and the names of the runs with faults."""
    faults.faults(frame(spark, tmp_path / "struck.jsonl", {"live": rows["live"]})).explain()
    assert capsys.readouterr().out.count(" Exchange ") == 3
    faults.faults(frame(spark, tmp_path / "unbroken.jsonl", {"unbroken": rows["unbroken"]})).explain()
    assert "Scan json" not in capsys.readouterr().out


def test_one_line_per_strike(table: dict[tuple[str, int], Row], expected: dict[tuple[str, int], Blast]) -> None:
    assert set(table) == set(expected)
    assert len(table) >= 40


def test_what_followed_is_what_a_count_by_hand_finds(table: dict[tuple[str, int], Row], expected: dict[tuple[str, int], Blast]) -> None:
    for key, told in expected.items():
        line = table[key]
        counts = (line.rebalances, line.generations, line.expelled, line.rejoined, line.replies_lost, line.connections_closed)
        assert counts == (told.rebalances, told.generations, told.expelled, told.rejoined, told.lost, told.closed), key
        assert (line.group, line.groups_disturbed, line.until_stable_ns) == (told.group, told.disturbed, told.until), key
        assert (line.errors, line.errors_elsewhere) == (dict(told.errors), told.elsewhere), key
        assert (line.never_because is None) == (told.until is not None), key
        # If a fault disturbs several groups, its line in the table belongs to the group that was disturbed first.
        assert line.link in (told.links or {None}), key
        # Scripted members send no Fetch, so their lines have no count of records fetched again.
        assert line.records_again is None or key[0] == "live", key


def test_a_group_is_stable_again_where_the_fold_ends_a_rebalance_or_loads_it(table: dict[tuple[str, int], Row], rows: Rows) -> None:
    folded = {run: [{name: value for name, value in row.items() if value is not None} for row in each] for run, each in rows.items()}
    begun = {run: each[0]["at"] - each[0]["t"] for run, each in rows.items()}
    ends = {(run, begun[run] + (one.ended or 0)) for run, each in folded.items() for one in rebalances(each) if one.ended_in == STABLE}
    ends |= {(run, row["at"]) for run, each in rows.items() for row in each if row["kind"] == "moved" and row["cause"] == LOADED}
    stable = [(run, line.at + line.until_first_stable_ns) for (run, _), line in table.items() if line.until_first_stable_ns]
    assert len(stable) >= 10
    assert set(stable) <= ends


def test_a_member_that_is_expelled_comes_back_and_the_other_group_hears_nothing(table: dict[tuple[str, int], Row], rows: Rows) -> None:
    ((_, line),) = [(key, line) for key, line in table.items() if key[0] == "live"]
    assert (line.kind, line.source, line.group, line.api, line.client) == ("expire_member", "rule", "struck", "Heartbeat", "reader-struck")
    assert line.member.startswith("reader-struck-")
    assert (line.groups_disturbed, line.link, line.expelled, line.rejoined, line.errors_elsewhere) == (1, "at once", 1, 1, 0)
    assert line.records_again == sum(records for seq, records in refetched(rows["live"], "struck") or () if seq > line.seq) == 20
    assert line.errors["UNKNOWN_MEMBER_ID"] >= 1 and line.until_stable_ns > 0


def test_only_offsets_fetched_before_count_as_fetched_again(spark: SparkSession) -> None:
    """Reader a fetches offsets 0 to 29, and its successor b begins at 20."""

    def asked(seq: int, connection: int, api: int, **message: Any) -> tuple[Any, ...]:
        return "run", "request", api, connection, f"reader-{connection}", seq, json.dumps(message)

    def fetch(seq: int, connection: int, offset: int) -> tuple[Any, ...]:
        return asked(seq, connection, 1, topics=[{"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": offset}]}])

    told = [asked(each, each, 11, group_id="readers") for each in (1, 2)]
    told += [fetch(3, 1, 0), fetch(4, 1, 10), fetch(5, 1, 30), fetch(6, 2, 20), fetch(7, 2, 25), fetch(8, 2, 40)]
    columns = "run string, kind string, api_key long, connection long, client_id string, seq long, message string"
    (line,) = fetched_again(spark.createDataFrame(told, columns)).collect()
    assert [(each.group, [tuple(step) for step in each.again]) for each in line.fetched] == [("readers", [(7, 5), (8, 5)])]


def test_windows_that_overlap_are_one(table: dict[tuple[str, int], Row]) -> None:
    """Exactly one fault opens each window, and each line has the number of faults in its window."""
    by_run: dict[str, list[Row]] = {}
    for (run, _), line in sorted(table.items()):
        by_run.setdefault(run, []).append(line)
    for run, of_run in by_run.items():
        single = [line for line in of_run if line.group is not None and line.never_because != NO_GROUP]
        # The sum of records is checked only for runs whose faults all name a group, because a fault without a group counts in the windows
        # of several groups.
        if len(single) == len(of_run):
            assert sum(line.opens_window for line in of_run) == round(sum(1 / line.faults_in_window for line in of_run), 9), run
    assert any(line.faults_in_window > 1 for line in table.values())
