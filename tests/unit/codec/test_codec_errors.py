"""Kafka's error codes form a table, and codec errors carry their details as attributes."""

from __future__ import annotations

import pickle

import pytest
from cases import for_each

from groupmock_codec import APIS, DecodeError, EncodeError, error_codes
from groupmock_codec.error_codes import NAMES, RETRIABLE, error_name
from groupmock_codec.errors import CodecError, Place
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest


def test_codes_are_complete_up_to_kafka_4_4() -> None:
    assert list(NAMES) == list(range(-1, 137))


@for_each(
    ("code", "name", "retriable"),
    [
        (-1, "UNKNOWN_SERVER_ERROR", False),
        (0, "NONE", False),
        (14, "COORDINATOR_LOAD_IN_PROGRESS", True),
        (15, "COORDINATOR_NOT_AVAILABLE", True),
        (16, "NOT_COORDINATOR", True),
        (22, "ILLEGAL_GENERATION", False),
        (23, "INCONSISTENT_GROUP_PROTOCOL", False),
        (24, "INVALID_GROUP_ID", False),
        (25, "UNKNOWN_MEMBER_ID", False),
        (26, "INVALID_SESSION_TIMEOUT", False),
        (27, "REBALANCE_IN_PROGRESS", False),
        (35, "UNSUPPORTED_VERSION", False),
        (68, "NON_EMPTY_GROUP", False),
        (69, "GROUP_ID_NOT_FOUND", False),
        (76, "UNSUPPORTED_COMPRESSION_TYPE", False),
        (79, "MEMBER_ID_REQUIRED", False),
        (81, "GROUP_MAX_SIZE_REACHED", False),
        (82, "FENCED_INSTANCE_ID", False),
        (88, "UNSTABLE_OFFSET_COMMIT", True),
        (110, "FENCED_MEMBER_EPOCH", False),
        (113, "STALE_MEMBER_EPOCH", False),
        (120, "TRANSACTION_ABORTABLE", False),
        (133, "SHARE_SESSION_LIMIT_REACHED", True),
        (134, "GROUP_DELETION_FAILED", False),
    ],
)
def test_codes_that_group_protocols_speak_of(code: int, name: str, retriable: bool) -> None:
    assert (error_name(code), code in RETRIABLE) == (name, retriable)


def test_codes_are_written_as_they_are() -> None:
    from groupmock_codec.messages.k12_heartbeat import HeartbeatResponse

    assert APIS[12].response.encode(0, HeartbeatResponse(0, error_codes.ILLEGAL_GENERATION)) == b"\0\x16"


def test_places_are_found_when_asked_for_and_once() -> None:
    asked: list[int] = []

    def place() -> Place:
        asked.append(1)
        return Place("broken", "topics[0]", 12)

    error = DecodeError("Fetch v4 cannot be read", place)
    assert asked == []
    assert (error.reason, error.path, error.offset, str(error)) == (
        "broken",
        "topics[0]",
        12,
        "Fetch v4 cannot be read: broken at topics[0] (offset 12)",
    )
    assert asked == [1]


@for_each("kind", [DecodeError, EncodeError])
def test_errors_can_be_pickled_with_their_place(kind: type[CodecError]) -> None:
    error = pickle.loads(pickle.dumps(kind("x", lambda: Place("why", "a.b", 3))))
    assert (type(error), error.what, error.place) == (kind, "x", Place("why", "a.b", 3))


def test_both_are_value_errors() -> None:
    with pytest.raises(ValueError, match="HeartbeatRequest v0 cannot be read"):
        APIS[12].request.decode(0, b"")
    with pytest.raises(ValueError, match="HeartbeatRequest v0 cannot be written"):
        APIS[12].request.encode(0, HeartbeatRequest(generation_id=2**40))
