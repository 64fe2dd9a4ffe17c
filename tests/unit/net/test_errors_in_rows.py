"""Errors inside an answer are in its row, the first by name and all by path, and can be queried and counted."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each

from groupmock.control.row_test import Filter, RowTest
from groupmock.journal.journal import Journal, Sink
from groupmock.journal.rows import MOST_ERRORS, ErrorAt, Header, ReplyRow, Row
from groupmock.net import record
from groupmock.net.codecs import ApiCodec
from groupmock.net.counters import Counters
from groupmock.net.record import Recorder, errors_of
from groupmock_codec.messages.k03_metadata import MetadataResponse, MetadataResponseTopic
from groupmock_codec.messages.k08_offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from groupmock_codec.messages.k12_heartbeat import HeartbeatResponse
from groupmock_codec.messages.k13_leave_group import LeaveGroupResponse, MemberResponse

HEADER = Header(v=1, run="t", product="groupmock", seed=1, epoch_ns=0, profile="groupmock", config={}, complete=False)


class Kept(Sink):
    """Keeps every row that the journal passes on. With `routine` False it keeps errors alone, as the log does."""

    def __init__(self, routine: bool) -> None:
        self.routine = routine
        self.rows: list[Row] = []

    def take(self, row: Row) -> None:
        self.rows.append(row)


class Peer:
    number, node, client_host, port, cut_bytes, waiting, deaf = 1, 1, "/127.0.0.1", 9, 0, 0, False


class Open:
    protocol_type = client_id = message = None
    connection, frame, correlation = Peer(), b"", b"\0\0\0\1"
    end = received = handled = 0
    ticket, quiet = 1, False

    def __init__(self, key: int, version: int) -> None:
        self.codec = ApiCodec(key, version)


def commit(*codes: int) -> OffsetCommitResponse:
    """Return an answer with one topic and a partition per code."""
    partitions = [OffsetCommitResponsePartition(partition_index=place, error_code=code) for place, code in enumerate(codes)]
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="orders", partitions=partitions)])


def reply(message: Any, key: int, version: int, routine: bool = True) -> tuple[list[Any], Counters]:
    """Return the rows and counters that one answer causes."""
    kept, counters = Kept(routine), Counters()
    Recorder(Journal(HEADER, [kept]), counters).reply(Open(key, version), message, 10, 5)
    return kept.rows, counters


@for_each(
    "message, key, version, error, paths",
    [
        (commit(0, 25, 22), 8, 8, "UNKNOWN_MEMBER_ID", ["topics[0].partitions[1].error_code", "topics[0].partitions[2].error_code"]),
        (LeaveGroupResponse(members=[MemberResponse(error_code=25)]), 13, 4, "UNKNOWN_MEMBER_ID", ["members[0].error_code"]),
        (MetadataResponse(topics=[MetadataResponseTopic(error_code=3)]), 3, 8, "UNKNOWN_TOPIC_OR_PARTITION", ["topics[0].error_code"]),
        (HeartbeatResponse(error_code=27), 12, 4, "REBALANCE_IN_PROGRESS", ["error_code"]),
        (HeartbeatResponse(error_code=9999), 12, 4, "ERROR_9999", ["error_code"]),
    ],
    ids=["commit", "leave", "metadata", "heartbeat", "unknown code"],
)
def test_the_first_error_is_named_and_all_have_their_paths(message: Any, key: int, version: int, error: str, paths: list[str]) -> None:
    (row,), counters = reply(message, key, version)
    assert (row.error, [each.path for each in row.errors], row.errors_left_out) == (error, paths, 0)
    assert counters.errors == {(key, each.error): 1 for each in row.errors}


def test_the_number_of_errors_in_a_row_is_bounded_and_the_rest_is_counted() -> None:
    (row,), counters = reply(commit(*[25] * (MOST_ERRORS + 7)), 8, 8)
    assert (len(row.errors), row.errors_left_out) == (MOST_ERRORS, 7)
    assert counters.errors == {(8, "UNKNOWN_MEMBER_ID"): 1}, "an answer counts once for an error, however often it has it"


def test_who_wants_errors_alone_gets_a_commit_that_was_refused_and_none_that_was_taken() -> None:
    assert [row.error for row in reply(commit(25), 8, 8, routine=False)[0]] == ["UNKNOWN_MEMBER_ID"]
    assert reply(commit(0), 8, 8, routine=False)[0] == []


def test_an_answer_without_errors_has_nothing_built_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers without errors are frequent, so they cost one comparing call and create no list, name or path."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("built for an answer without errors")

    for name in ("ErrorAt", "error_name", "islice"):
        monkeypatch.setattr(record, name, never)
    (row,), counters = reply(commit(0, 0), 8, 8)
    assert (row.error, row.errors, row.errors_left_out) == (None, None, 0)
    assert counters.errors == {}


def test_an_answer_that_is_none_has_no_errors() -> None:
    assert errors_of(None, 8) == (None, 0)


@for_each(
    "error, fits",
    [("UNKNOWN_MEMBER_ID", True), ("ILLEGAL_GENERATION", True), ("FENCED_INSTANCE_ID", False), ("none", False)],
)
def test_a_query_finds_every_error_of_an_answer(error: str, fits: bool) -> None:
    (row,), _ = reply(commit(0, 25, 22), 8, 8)
    assert RowTest(Filter(error=error)).fits(row) is fits


@for_each("error, fits", [("UNKNOWN_MEMBER_ID", True), ("none", False)])
def test_rows_of_older_journals_have_one_error(error: str, fits: bool) -> None:
    place: dict[str, Any] = {"connection": 1, "correlation_id": 1, "api_key": 12, "api_name": "Heartbeat", "api_version": 4, "ticket": 1}
    assert RowTest(Filter(error=error)).fits(ReplyRow(seq=1, t=0, size=1, error="UNKNOWN_MEMBER_ID", **place)) is fits


def test_an_error_at_its_path_is_its_json() -> None:
    import msgspec

    (row,), _ = reply(commit(25), 8, 8)
    told = msgspec.json.decode(msgspec.json.encode(row))
    assert told["errors"] == [{"path": "topics[0].partitions[0].error_code", "error": "UNKNOWN_MEMBER_ID"}]
    assert "errors_left_out" not in told
    assert msgspec.json.decode(msgspec.json.encode(row), type=ReplyRow).errors == [ErrorAt(**told["errors"][0])]
