"""The malformed bytes of the page "Bad bytes" that concern the codec are refused, or accepted and decoded as Kafka does."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from cases import for_each

from groupmock_codec import APIS, DecodeError
from groupmock_codec.messages.k01_fetch import ReplicaState
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest

from .kit import both

NULL4 = "ffffffff"
HEARTBEAT_0 = bytes.fromhex("0001 67 00000005 0002 6d31")  # The bytes are group g, generation 5 and member m1.
HEARTBEAT_4 = bytes.fromhex("02 67 00000005 03 6d31 00 00")


def beat(**more: Any) -> HeartbeatRequest:
    return HeartbeatRequest("g", 5, "m1", **more)


def hexed(text: str) -> bytes:
    return bytes.fromhex(text)


REFUSED = [
    ("string null where not nullable, fixed", 12, 0, "ffff 00000005 0002 6d31"),
    ("string of length -2, fixed", 12, 0, "fffe 00000005 0002 6d31"),
    ("string null where not nullable, compact", 12, 4, "00 00000005 03 6d31 00 00"),
    ("string longer than the frame, fixed", 12, 0, "7fff 67 00000005 0002 6d31"),
    ("compact length 2^31-1", 12, 4, "ffffffff07 67 00000005 03 6d31 00 00"),
    ("compact length 32768 although all bytes are there", 12, 4, "818002" + "61" * 32768 + "00000005 03 6d31 00 00"),
    ("varint of six bytes", 12, 4, "828080808000 67 00000005 03 6d31 00 00"),
    ("varint ff ff ff ff 0f", 12, 4, "ffffffff0f 67 00000005 03 6d31 00 00"),
    ("bytes null, fixed", 14, 0, "0001 67 00000001 0001 6d 00000001 0001 61 ffffffff"),
    ("bytes of length -2, fixed", 14, 0, "0001 67 00000001 0001 6d 00000001 0001 61 fffffffe"),
    ("bytes of length 2^31-1, fixed", 14, 0, "0001 67 00000001 0001 6d 00000001 0001 61 7fffffff"),
    ("bytes null, compact", 11, 6, "02 67 00002710 0000ea60 01 00 02 63 02 02 72 00 00 00"),
    ("array -1, JoinGroup", 11, 0, "0001 67 00002710 0000 0001 63 ffffffff"),
    ("array -2, JoinGroup", 11, 0, "0001 67 00002710 0000 0001 63 fffffffe"),
    ("array -2^31, JoinGroup", 11, 0, "0001 67 00002710 0000 0001 63 80000000"),
    ("array -1, SyncGroup", 14, 0, "0001 67 00000001 0001 6d ffffffff"),
    ("array -1, LeaveGroup 3", 13, 3, "0001 67 ffffffff"),
    ("array -1, OffsetCommit topics", 8, 2, "0001 67 00000001 0001 6d ffffffffffffffff ffffffff"),
    ("array -1, OffsetCommit partitions", 8, 2, "0001 67 00000001 0001 6d ffffffffffffffff 00000001 0001 74 ffffffff"),
    ("array -1, OffsetFetch 1", 9, 1, "0001 67 ffffffff"),
    ("array -1, OffsetDelete", 47, 0, "0001 67 ffffffff"),
    ("array -1, DescribeGroups", 15, 0, NULL4),
    ("array -1, DeleteGroups", 42, 0, NULL4),
    ("array -1, Metadata 0", 3, 0, NULL4),
    ("compact array null, JoinGroup 6", 11, 6, "02 67 00002710 0000ea60 01 00 02 63 00 00"),
    ("compact array null, ListGroups 4", 16, 4, "00 00"),
    ("compact array null, OffsetFetch 8", 9, 8, "00 00 00"),
    ("compact array null, FindCoordinator 4", 10, 4, "00 00 00"),
    ("null in an array of strings, DescribeGroups", 15, 0, "00000001 ffff"),
    ("null in an array of strings, DeleteGroups", 42, 0, "00000001 ffff"),
    ("array count 2^31-1, fixed", 15, 0, "7fffffff 0001 67"),
    ("array count 2^31-1, compact", 42, 2, "ffffffff07 02 67 00"),
    ("array count 1000 with one element present", 15, 0, "000003e8 0001 67"),
    ("array count 2 with one element present", 15, 0, "00000002 0001 67"),
    ("tag count beyond the frame", 12, 4, "02 67 00000005 03 6d31 00 05"),
    ("tag count 2^31-1", 12, 4, "02 67 00000005 03 6d31 00 ffffffff07"),
    ("tag size beyond the frame", 12, 4, "02 67 00000005 03 6d31 00 01 63 05 aa"),
    ("last tag byte missing", 12, 4, "02 67 00000005 03 6d31 00 01 63 02 aa"),
    ("tag section missing", 12, 4, "02 67 00000005 03 6d31 00"),
    ("ApiVersions 3 with an empty body", 18, 3, ""),
]


@for_each(("key", "version", "body"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_as_brokers_refuse_it(key: int, version: int, body: str) -> None:
    assert both(APIS[key].request, version, hexed(body)) == ("refused", "refused")


ACCEPTED = [
    ("overlong varint", 4, "8200 67 00000005 03 6d31 00 00", HeartbeatRequest("g", 5, "m1")),
    ("overlong varint of zero for null", 4, "02 67 00000005 03 6d31 8000 00", HeartbeatRequest("g", 5, "m1", None)),
    ("null instance id of any negative length", 3, "0001 67 00000005 0002 6d31 fffe", HeartbeatRequest("g", 5, "m1", None)),
    ("group id not UTF-8", 0, "0003 67ff68 00000005 0002 6d31", HeartbeatRequest("g\ufffdh", 5, "m1")),
    ("member id not UTF-8, each bad byte", 4, "02 67 00000005 03 fffe 00 00", HeartbeatRequest("g", 5, "\ufffd\ufffd")),
    ("an encoded surrogate is one U+FFFD, as in Java", 0, "0003 eda080 00000005 0000", HeartbeatRequest("\ufffd", 5, "")),
    ("a cut character is one U+FFFD", 0, "0002 e6b6 00000005 0000", HeartbeatRequest("\ufffd", 5, "")),
    ("unknown tag", 4, "02 67 00000005 03 6d31 00 01 63 02 aabb", beat(unknown_tags={99: b"\xaa\xbb"})),
    (
        "the same tag twice: the last stays",
        4,
        "02 67 00000005 03 6d31 00 02 63 01 aa 63 01 bb",
        beat(unknown_tags={99: b"\xbb"}),
    ),
    (
        "tags descending",
        4,
        "02 67 00000005 03 6d31 00 02 63 01 aa 01 00",
        beat(unknown_tags={99: b"\xaa", 1: b""}),
    ),
]


@for_each(("version", "body", "expected"), [row[1:] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
def test_accepted_as_brokers_accept_it(version: int, body: str, expected: HeartbeatRequest) -> None:
    data = hexed(body)
    assert both(APIS[12].request, version, data) == ((expected, len(data)), (expected, len(data)))


def test_bool_byte_seven_is_true() -> None:
    message = APIS[15].request.decode(3, hexed("00000000 07"))
    assert message.include_authorized_operations is True  # type: ignore[attr-defined]


def test_a_compact_string_of_32767_bytes_is_read() -> None:
    data = hexed("808002" + "61" * 32767 + "00000005 03 6d31 00 00")
    assert both(APIS[12].request, 4, data)[0] == (HeartbeatRequest("a" * 32767, 5, "m1"), len(data))


@for_each(("version", "body"), [(0, HEARTBEAT_0), (4, HEARTBEAT_4)])
@for_each("more", [1, 100])
def test_trailing_bytes_are_refused_unless_told(version: int, body: bytes, more: int) -> None:
    assert APIS[12].request.decode(version, body + bytes(more), trailing=True) == HeartbeatRequest("g", 5, "m1")
    with pytest.raises(DecodeError, match=f"{more} bytes left over") as caught:
        APIS[12].request.decode(version, body + bytes(more))
    assert caught.value.offset == len(body)


def test_array_count_zero_with_stray_bytes_is_trailing_bytes() -> None:
    assert APIS[15].request.decode(0, hexed("00000000 0001 67"), trailing=True) == APIS[15].request.message()


@for_each(("version", "refused"), [(12, True), (15, False)])
def test_a_tag_that_only_other_versions_declare_is_refused(version: int, refused: bool) -> None:
    # FetchRequest has tag 1 (ReplicaState) from v15 on, and for older versions Kafka says "Tag 1 is not valid for version 12".
    from_v15 = version >= 15
    whole = APIS[1].request.encode(version, APIS[1].request.message())
    data = whole[:-1] + (hexed("01 01 0d 00000001 0000000000000002 00") if from_v15 else hexed("01 01 01 00"))
    if refused:
        with pytest.raises(DecodeError, match="tag 1 is declared for other versions only"):
            APIS[1].request.decode(version, data)
    else:
        assert APIS[1].request.decode(version, data).replica_state == ReplicaState(replica_id=1, replica_epoch=2)
    assert both(APIS[1].request, version, data)[0] == both(APIS[1].request, version, data)[1]


def test_a_known_tag_is_read_whatever_its_size_says() -> None:
    # Kafka ignores the size before a known tag, as its classes show: here the answer to ApiVersions has tag 1 (int64) with a size of 3.
    codec, data = APIS[18].response, hexed("0000 01 00000000 01 01 03 0000000000000007")
    found = both(codec, 3, data)
    assert found[0] == found[1]
    assert codec.decode(3, data).finalized_features_epoch == 7  # type: ignore[attr-defined]


@for_each("count", [10, 1000])
def test_a_hostile_count_costs_no_memory(count: int) -> None:
    import tracemalloc

    data = hexed("0001 67 00002710 0000 0001 63") + struct.pack(">i", 2**31 - 1) + bytes(count)
    tracemalloc.start()
    with pytest.raises(DecodeError):
        APIS[11].request.decoder(0)(data, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000


TWO_PROTOCOLS = "0001 67 00002710 0000 0001 63 00000002 0001 72 00000001 aa 0001 73 00000005 aa"
PLACES: list[tuple[str, Any, str, str, int]] = [
    (
        "cut in the second protocol's metadata",
        0,
        TWO_PROTOCOLS,
        "protocols[1].metadata",
        27,
    ),
    ("null group id", 0, "ffff", "group_id", 0),
    ("count beyond", 0, "0001 67 00002710 0000 0001 63 00000009", "protocols", 12),
]


@for_each(("version", "body", "path", "offset"), [row[1:] for row in PLACES], ids=[row[0] for row in PLACES])
def test_errors_name_the_field_and_the_byte(version: int, body: str, path: str, offset: int) -> None:
    with pytest.raises(DecodeError) as caught:
        APIS[11].request.decode(version, hexed(body))
    assert (caught.value.path, caught.value.offset) == (path, offset)
    assert path in str(caught.value)


def test_offsets_count_from_the_message_not_from_the_buffer() -> None:
    with pytest.raises(DecodeError) as caught:
        APIS[12].request.decoder(0)(b"header" + hexed("0001 67 0000"), 6)
    assert (caught.value.path, caught.value.offset) == ("generation_id", 3)


def test_decoders_begin_anywhere_and_say_where_they_end() -> None:
    message, end = APIS[12].request.decoder(4)(b"header" + HEARTBEAT_4 + b"more", 6)
    assert (message, end) == (HeartbeatRequest("g", 5, "m1"), 6 + len(HEARTBEAT_4))


@for_each("kind", [bytearray, memoryview])
def test_any_bytes_are_read(kind: type) -> None:
    assert APIS[12].request.decode(4, kind(HEARTBEAT_4)) == HeartbeatRequest("g", 5, "m1")


def test_structs_keep_their_own_unknown_tags() -> None:
    message = JoinGroupRequest("g", protocols=[JoinGroupRequestProtocol("range", b"x", unknown_tags={7: b"seven"})])
    assert APIS[11].request.decode(6, APIS[11].request.encode(6, message)) == message


def test_a_big_broken_frame_is_refused_without_asking_the_slow_judge() -> None:
    groups = 400_000
    data = struct.pack(">i", groups) + bytes(2 * groups - 1)  # The array has `groups` empty group ids, and the last one is cut off.
    with pytest.raises(DecodeError) as caught:
        APIS[15].request.decode(0, data)
    assert (caught.value.path, caught.value.offset) == ("", 0)
    assert "4096" in str(caught.value)
