"""Embedded protocols: the vectors of docs/kafka/embedded-protocols.md#byte-vectors, recorded metadata of stock clients, and lenient
decoding."""

from __future__ import annotations

import pytest
from cases import for_each

from groupmock_codec import DecodeError, EncodeError
from groupmock_codec.embedded import connect, consumer, sticky
from groupmock_codec.embedded.connect import ConnectorTasks, WorkerAssignment, WorkerMetadata
from groupmock_codec.embedded.consumer import Assignment, Subscription, TopicPartitions
from groupmock_codec.embedded.sticky import StickyForm, StickyUserData

P = [TopicPartitions("t1", [0, 2]), TopicPartitions("t2", [1])]
P_HEX = "00000002 00027431 00000002 00000000 00000002 00027432 00000001 00000001"
TOPICS_HEX = "00000002 0002 7431 0002 7432"
URL = "http://a:8083/"
URL_HEX = "000e 687474703a2f2f613a383038332f"

SUBSCRIPTIONS = [
    ("v0", f"0000 {TOPICS_HEX} 00000002 0102", Subscription(0, ["t1", "t2"], b"\1\2")),
    ("v1", f"0001 {TOPICS_HEX} 00000002 0102 {P_HEX}", Subscription(1, ["t1", "t2"], b"\1\2", P)),
    ("v2", f"0002 {TOPICS_HEX} 00000002 0102 {P_HEX} 00000007", Subscription(2, ["t1", "t2"], b"\1\2", P, 7)),
    ("v3", f"0003 {TOPICS_HEX} 00000002 0102 {P_HEX} 00000007 0002 7231", Subscription(3, ["t1", "t2"], b"\1\2", P, 7, "r1")),
    ("v0 minimal", "0000 00000001 00027431 ffffffff", Subscription(0, ["t1"])),
    ("v1 minimal", "0001 00000001 00027431 ffffffff 00000000", Subscription(1, ["t1"])),
    ("v3 minimal, Java's default", "0003 00000001 00027431 ffffffff 00000000 ffffffff ffff", Subscription(3, ["t1"])),
    ("aiokafka range", "0000 00000001 0001 54 00000000", Subscription(0, ["T"], b"")),
    ("librdkafka cooperative-sticky", "0003 00000001 0001 54 00000000 00000000 ffffffff 0000", Subscription(3, ["T"], b"", [], -1, "")),
]
ASSIGNMENTS = [
    ("v0", f"0000 {P_HEX} ffffffff", Assignment(0, P)),
    ("v1", f"0001 {P_HEX} ffffffff", Assignment(1, P)),
    ("v3 empty", "0003 00000000 ffffffff", Assignment(3, [])),
    ("with user data", "0001 00000000 00000001 aa", Assignment(1, [], b"\xaa")),
]
FULL = bytes.fromhex(SUBSCRIPTIONS[3][1])


@for_each(("data", "message"), [row[1:] for row in SUBSCRIPTIONS], ids=[row[0] for row in SUBSCRIPTIONS])
def test_subscriptions(data: str, message: Subscription) -> None:
    assert consumer.decode_subscription(bytes.fromhex(data)) == message
    assert consumer.read_subscription(bytes.fromhex(data)) == message
    assert consumer.encode_subscription(message) == bytes.fromhex(data)


@for_each(("data", "message"), [row[1:] for row in ASSIGNMENTS], ids=[row[0] for row in ASSIGNMENTS])
def test_assignments(data: str, message: Assignment) -> None:
    assert consumer.decode_assignment(bytes.fromhex(data)) == message
    assert consumer.read_assignment(bytes.fromhex(data)) == message
    assert consumer.encode_assignment(message) == bytes.fromhex(data)


@for_each("version", [4, 5, 32767])
def test_versions_above_3_are_read_as_3(version: int) -> None:
    data = version.to_bytes(2) + FULL[2:] + b"more that nobody knows"
    found = consumer.decode_subscription(data)
    assert (found.version, found.rack_id, found.generation_id) == (version, "r1", 7)
    assert consumer.decode_assignment(version.to_bytes(2) + bytes.fromhex("00000000 ffffffff aa")).version == version


@for_each("data", ["", "00", "ffff 00000000 ffffffff", "8000 00000000 ffffffff"])
def test_no_version_and_negative_versions_are_refused(data: str) -> None:
    for decode in (consumer.decode_subscription, consumer.decode_assignment):
        with pytest.raises(DecodeError, match="version"):
            decode(bytes.fromhex(data))


def test_every_cut_is_refused_by_strict_reading() -> None:
    for end in range(len(FULL)):
        with pytest.raises(DecodeError):
            consumer.decode_subscription(FULL[:end])


@for_each(
    ("end", "expected"),
    [
        (len(FULL) - 1, Subscription(3, ["t1", "t2"], b"\1\2", P, 7)),
        (len(FULL) - 5, Subscription(3, ["t1", "t2"], b"\1\2", P)),
        (len(FULL) - 9, Subscription(3, ["t1", "t2"], b"\1\2")),
        (16, Subscription(3, ["t1", "t2"])),
        (13, Subscription(3, ["t1"])),
        (4, Subscription(3)),
        (2, Subscription(3)),
        (1, None),
        (0, None),
    ],
)
def test_lenient_reading_gives_what_stands_before_the_break(end: int, expected: Subscription | None) -> None:
    assert consumer.read_subscription(FULL[:end]) == expected


@for_each(
    ("data", "expected"),
    [
        (f"0001 {P_HEX}", Assignment(1, P)),
        (f"0001 {P_HEX} 00000009 aa", Assignment(1, P)),
        ("0001 00000002 0002", Assignment(1)),
        ("0001", Assignment(1)),
        ("", None),
    ],
)
def test_lenient_reading_of_assignments(data: str, expected: Assignment | None) -> None:
    assert consumer.read_assignment(bytes.fromhex(data)) == expected


JUNK = [b"range0", b"\0\0\0\0\0\x7f", b"\xff" * 6, bytes(5), b"\0\1\x7f\xff\xff\xff", b"\0\0\0\0\0\1\xff\xff"]


@for_each("data", JUNK)
def test_lenient_reading_never_raises(data: bytes) -> None:
    assert consumer.read_subscription(data) is not None
    assert consumer.read_assignment(data) is not None


def test_fields_of_later_versions_are_left_out() -> None:
    assert consumer.encode_subscription(Subscription(0, ["t1"], None, P, 7, "r1")).hex() == "00000000000100027431ffffffff"


@for_each("version", [-1, 4])
def test_only_known_versions_are_written(version: int) -> None:
    with pytest.raises(EncodeError, match="version"):
        consumer.encode_subscription(Subscription(version))
    with pytest.raises(EncodeError, match="version"):
        consumer.encode_assignment(Assignment(version))


STICKY = [
    ("v1", f"{P_HEX} 00000007", StickyForm(1, False, StickyUserData(P, 7))),
    ("v0", P_HEX, StickyForm(0, False, StickyUserData(P))),
    ("aiokafka, never a generation", f"{P_HEX} ffffffff", StickyForm(1, False, StickyUserData(P, -1))),
    (
        "kafka-python, prefixed",
        "0001 00000001 0001 54 00000002 00000000 00000003 00000007",
        StickyForm(1, True, StickyUserData([TopicPartitions("T", [0, 3])], 7)),
    ),
]


@for_each(("data", "form"), [row[1:] for row in STICKY], ids=[row[0] for row in STICKY])
def test_sticky_user_data(data: str, form: StickyForm) -> None:
    assert sticky.read_sticky(bytes.fromhex(data)) == form
    assert sticky.write_sticky(form) == bytes.fromhex(data)


@for_each("data", [None, b"", b"\0", b"junk!", bytes.fromhex("00000007 aa")])
def test_other_sticky_user_data_is_nothing(data: bytes | None) -> None:
    assert sticky.read_sticky(data) is None


@for_each(("data", "generation"), [("ffffffff", -1), ("00000007", 7)])
def test_cooperative_sticky_user_data(data: str, generation: int) -> None:
    assert sticky.read_cooperative_generation(bytes.fromhex(data)) == generation
    assert sticky.write_cooperative_generation(generation) == bytes.fromhex(data)
    assert sticky.read_cooperative_generation(bytes.fromhex(data)[:3]) is None
    assert sticky.read_cooperative_generation(None) is None


C1 = ConnectorTasks("c1", [connect.CONNECTOR, 0])
V1_HEX = f"0000 0001 4c {URL_HEX} 0000000000000005 00000001 0002 6331 00000002 ffffffff 00000000"
REVOKED_HEX = "00000001 0002 6332 00000001 00000003"
CONNECT_ASSIGNMENTS = [
    (
        "v0",
        f"0000 0000 0001 4c {URL_HEX} 0000000000000005 00000001 0002 6331 00000003 ffffffff 00000000 00000001",
        WorkerAssignment(0, 0, "L", URL, 5, [ConnectorTasks("c1", [-1, 0, 1])]),
    ),
    ("v1", f"0001 {V1_HEX} {REVOKED_HEX} 0000ea60", WorkerAssignment(1, 0, "L", URL, 5, [C1], [ConnectorTasks("c2", [3])], 60000)),
    ("v2, nothing revoked", f"0002 {V1_HEX} 00000000 00000000", WorkerAssignment(2, 0, "L", URL, 5, [C1], [], 0)),
]
ALLOCATION = bytes.fromhex(CONNECT_ASSIGNMENTS[2][1])
CONNECT_METADATA = [
    ("v0", f"0000 {URL_HEX} 0000000000000005", WorkerMetadata(0, URL, 5)),
    ("v1", f"0001 {URL_HEX} 0000000000000005 ffffffff", WorkerMetadata(1, URL, 5)),
    ("v2", f"0002 {URL_HEX} 0000000000000005 ffffffff", WorkerMetadata(2, URL, 5)),
    ("v2 with its allocation", f"0002 {URL_HEX} 0000000000000005 0000003b {ALLOCATION.hex()}", WorkerMetadata(2, URL, 5, ALLOCATION)),
]


@for_each(("data", "message"), [row[1:] for row in CONNECT_ASSIGNMENTS], ids=[row[0] for row in CONNECT_ASSIGNMENTS])
def test_connect_assignments(data: str, message: WorkerAssignment) -> None:
    assert connect.decode_assignment(bytes.fromhex(data)) == message
    assert connect.encode_assignment(message) == bytes.fromhex(data)


@for_each(("data", "message"), [row[1:] for row in CONNECT_METADATA], ids=[row[0] for row in CONNECT_METADATA])
def test_connect_metadata(data: str, message: WorkerMetadata) -> None:
    assert connect.decode_metadata(bytes.fromhex(data)) == message
    assert connect.encode_metadata(message) == bytes.fromhex(data)


def test_a_workers_allocation_is_an_assignment() -> None:
    found = connect.decode_metadata(bytes.fromhex(CONNECT_METADATA[3][1]))
    assert found.allocation is not None and len(found.allocation) == 59
    assert connect.decode_assignment(found.allocation).assigned == [C1]


def test_missing_trailing_fields_are_null_or_zero() -> None:
    whole = bytes.fromhex(f"0001 {V1_HEX} {REVOKED_HEX}")
    assert connect.decode_assignment(whole) == WorkerAssignment(1, 0, "L", URL, 5, [C1], [ConnectorTasks("c2", [3])], 0)
    assert connect.decode_assignment(bytes.fromhex(f"0001 {V1_HEX}")) == WorkerAssignment(1, 0, "L", URL, 5, [C1], None, 0)
    head = bytes.fromhex(f"0001 0000 0001 4c {URL_HEX} 0000000000000005")
    assert connect.decode_assignment(head) == WorkerAssignment(1, 0, "L", URL, 5, None, None, 0)
    assert connect.decode_metadata(bytes.fromhex(f"0001 {URL_HEX} 0000000000000005")) == WorkerMetadata(1, URL, 5)


@for_each("data", ["", "00", "0003 0000", "ffff 0000", f"0000 {URL_HEX} 000000", "0001 000e 6874"])
def test_broken_connect_bytes_are_refused(data: str) -> None:
    for decode in (connect.decode_metadata, connect.decode_assignment):
        with pytest.raises(DecodeError):
            decode(bytes.fromhex(data))
