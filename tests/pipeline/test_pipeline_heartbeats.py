"""The job `heartbeats` gives the expected figures for a handwritten journal and agrees with plain Python for a recorded one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from consumer_wire import handed_over
from journal_frames import Row, frame, read
from journal_pen import Pen
from recorded_journals import recorded
from share_wire import worked

from groupmock_codec.units import NS_PER_MS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def _beat(pen: Pen, member: str, connection: int, generation: int = 1, error: str | None = None, client_id: str = "app") -> None:
    message = {"group_id": "kitchen", "member_id": member, "generation_id": generation}
    ticket = pen.request((12, "Heartbeat"), connection, message, client_id=client_id)
    pen.reply(ticket, {"error_code": 0}, **({"error": error} if error else {}))


def _by_hand() -> list[Row]:
    """Return a journal of anna (librdkafka by ApiVersions, session of 10 s) and ben (aiokafka, which does not name itself). ben rejoins
    with 6 s and expires."""
    pen = Pen()
    software = {"client_software_name": "librdkafka", "client_software_version": "2.16.0"}
    ticket = pen.request((18, "ApiVersions"), 1, software, client_id="app")
    pen.reply(ticket, {"error_code": 35}, error="UNSUPPORTED_VERSION")
    first = pen.join("kitchen", "", 1)
    second = pen.join("kitchen", "ben", 2, client_id="aiokafka-0.14.0")
    pen.at(100 * NS_PER_MS).joined(first, "anna", 1)
    pen.joined(second, "ben", 1)
    sync = pen.sync("kitchen", "anna", 1, 1)
    pen.at(200 * NS_PER_MS).synced(sync, [0])
    for t in (1200, 2200, 6200, 6200):
        # The gaps between anna's heartbeats are 1000 (from the SyncGroup answer), 1000, 4000 and 0 ms.
        _beat(pen.at(t * NS_PER_MS), "anna", 1)
    # The first heartbeat of ben has no gap, because ben sent no SyncGroup.
    _beat(pen.at(6300 * NS_PER_MS), "ben", 2, error="REBALANCE_IN_PROGRESS", client_id="aiokafka-0.14.0")
    rejoin = pen.join("kitchen", "ben", 2, client_id="aiokafka-0.14.0", session_timeout_ms=6000)
    pen.joined(rejoin, "ben", 2)
    # ben's first heartbeat of a new generation has no gap.
    _beat(pen.at(7000 * NS_PER_MS), "ben", 2, generation=2, client_id="aiokafka-0.14.0")
    # ben's gap is 6500 ms, longer than the session timeout of 6000 ms.
    _beat(pen.at(13_500 * NS_PER_MS), "ben", 2, generation=2, client_id="aiokafka-0.14.0")
    # anna's gap is 7300 ms, within the session timeout of 10000 ms.
    pen.request((12, "Heartbeat"), 1, {"group_id": "kitchen", "member_id": "anna", "generation_id": 1}, client_id="app")
    pen.at(20_000 * NS_PER_MS).row(
        "member", group="kitchen", member_id="ben", what="removed", reason="session of ben expired after 6000 ms"
    )
    return pen.rows


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    path = recorded("aiokafka", tmp_path_factory.mktemp("journal"))
    consumers = read(handed_over(tmp_path_factory.mktemp("consumers") / "run.jsonl"))
    workers = read(worked(tmp_path_factory.mktemp("workers") / "run.jsonl"))
    return {"by hand": _by_hand(), "aiokafka": read(path), "consumers": consumers, "workers": workers}


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, journals: dict[str, list[Row]]) -> dict[tuple[str, str], Row]:
    from groupmock_pipeline.jobs.heartbeats import COLUMNS, heartbeats

    found = heartbeats(frame(spark, tmp_path_factory.mktemp("rows"), journals))
    assert found.columns == list(COLUMNS)
    return {(line["run"], line["library"]): line.asDict() for line in found.collect()}


def test_gaps_shares_errors_and_expiries_by_hand(table: dict[tuple[str, str], Row]) -> None:
    anna, ben = table["by hand", "librdkafka"], table["by hand", "unknown"]
    assert len([key for key in table if key[0] == "by hand"]) == 2
    sessions = ("session_timeout_min_ms", "session_timeout_max_ms")
    shown = ("version", "members", "heartbeats", "unanswered", "gaps", *sessions, "expiries", "errors")
    assert [anna[name] for name in shown] == ["2.16.0", 1, 5, 1, 5, 10_000, 10_000, 0, {}]
    assert [ben[name] for name in shown] == [None, 1, 3, 0, 1, 6000, 10_000, 1, {"REBALANCE_IN_PROGRESS": 1}]
    assert [anna[f"gap_{name}_ns"] // NS_PER_MS for name in ("p50", "p90", "p99", "max")] == [1000, 7300, 7300, 7300]
    assert [anna[f"over_{name}"] for name in ("third", "two_thirds", "session")] == [2, 1, 0]
    assert [ben[f"over_{name}"] for name in ("third", "two_thirds", "session")] == [1, 1, 1]
    assert (anna["share_max"], ben["share_max"]) == (pytest.approx(0.73), pytest.approx(6.5 / 6))


@pytest.mark.parametrize(("group", "api_key"), [("consumers", 68), ("workers", 76)])
def test_heartbeats_of_a_consumer_or_share_group_count_by_epoch(
    group: str, api_key: int, table: dict[tuple[str, str], Row], journals: dict[str, list[Row]]
) -> None:
    found = [line for (run, _), line in table.items() if run == group]
    beats, gaps, last = 0, [], dict[str, tuple[int, int]]()
    for row in journals[group]:
        if row.get("api_key") == api_key and row["kind"] == "request" and (epoch := row["message"]["member_epoch"]) > 0:
            beats, member = beats + 1, row["message"]["member_id"]
            before = last.get(member, (0, 0))
            gaps += [row["t"] - before[1]] if before[0] == epoch else []
            last[member] = epoch, row["t"]
    assert beats > 6 and len(gaps) > 3
    counted = [sum(line[name] for line in found) for name in ("members", "heartbeats", "unanswered", "gaps", "expiries")]
    assert counted == [len(last), beats, 0, len(gaps), 1]
    assert max(line["gap_max_ns"] or 0 for line in found) == max(gaps)
    assert [line["session_timeout_min_ms"] for line in found] == [None] * len(found), "the broker has it"


def test_rows_are_shuffled_once(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from groupmock_pipeline.jobs.heartbeats import heartbeats

    heartbeats(frame(spark, tmp_path, {"by hand": _by_hand()})).explain()
    assert capsys.readouterr().out.count("Exchange ") == 1


def test_a_real_run_is_as_a_plain_reading_has_it(journals: dict[str, list[Row]], table: dict[tuple[str, str], Row]) -> None:
    # aiokafka does not send its name in ApiVersions, so the table does not know the library of both members.
    expected, line = _read(journals["aiokafka"]), table["aiokafka", "unknown"]
    assert (line["heartbeats"], line["errors"], line["session_timeout_max_ms"]) == (expected["count"], expected["errors"], 6000)
    gaps: list[int] = expected["gaps"]
    assert (line["members"], line["gaps"], line["gap_max_ns"]) == (2, len(gaps), max(gaps))
    assert line["gap_p50_ns"] in sorted(gaps)[(len(gaps) - 1) // 2 : len(gaps) // 2 + 1]


def _read(rows: list[Row]) -> dict[str, Any]:
    """Return how many heartbeats the members sent, their errors and the gaps."""
    answers = {row["ticket"]: row for row in rows if row.get("kind") == "reply"}
    alive: dict[tuple[str, int], int] = {}
    gaps, errors, count = [], Counter[str](), 0
    for row in rows[1:]:
        if row["kind"] != "request" or row["api_name"] not in ("Heartbeat", "SyncGroup"):
            continue
        answer, key = answers[row["ticket"]], (row["message"]["member_id"], row["message"]["generation_id"])
        if row["api_name"] == "SyncGroup":
            alive[key] = answer["t"]
            continue
        count += 1
        errors.update([answer["error"]] if answer.get("error") else [])
        gaps.append(row["t"] - alive[key])
        alive[key] = row["t"]
    return {"count": count, "errors": dict(errors), "gaps": gaps}
