"""Sends the malformed bytes of the page "Bad bytes" over TCP and checks which close the connection and which are accepted. A closed
connection gets a FIN and no answer, after the answers to good requests in the same segment. One journal row gives the reason, and other
connections continue."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from groupmock.config.profiles import load
from groupmock.rig.wire import framed
from groupmock_codec import APIS
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, METADATA, OFFSET_COMMIT, OFFSET_FETCH, SYNC_GROUP
from groupmock_codec.headers import RequestHeader, encode_request_header, request_header_version

CORRELATION = 7
BYTE_LIMIT = 104_857_600


class Case(NamedTuple):
    """A row of the table on the page "Bad bytes": the bytes to send and, if they are accepted, bytes that the answer must contain."""

    name: str
    data: bytes
    echo: bytes = b""


def head(key: int, version: int, client: bytes = b"\0\3raw", tags: bytes = b"\0", correlation: int = CORRELATION) -> bytes:
    """Return a hand-written request header; `client` includes its length, and `tags` are left out for header versions without tagged
    fields."""
    start = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + correlation.to_bytes(4, "big", signed=True)
    return start + client + (tags if request_header_version(key, version) == 2 else b"")


def text(value: bytes) -> bytes:
    return len(value).to_bytes(2, "big") + value


def compact(value: bytes) -> bytes:
    return varint(len(value) + 1) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def whole(key: int, version: int, body: bytes) -> bytes:
    return framed(head(key, version) + body)


def encoded(key: int, version: int, **fields: object) -> bytes:
    return APIS[key].request.encode(version, APIS[key].request.message(**fields))


HEARTBEAT_0 = text(b"g") + int32(1) + text(b"m")
HEARTBEAT_4 = compact(b"g") + int32(1) + compact(b"m") + b"\0" + b"\0"
PROTOCOL = text(b"range") + int32(3) + b"abc"
JOIN_5 = text(b"g") + int32(10000) + int32(10000) + text(b"") + b"\xff\xff" + text(b"other") + int32(1) + PROTOCOL
JOIN_7 = (
    compact(b"g") + int32(10000) + int32(10000) + compact(b"") + b"\0" + compact(b"other")
    + varint(2) + compact(b"range") + compact(b"abc") + b"\0" + b"\0"
)  # fmt: skip
COMMIT_2 = text(b"g") + int32(-1) + text(b"") + b"\xff" * 8 + int32(1) + text(b"t") + int32(1) + int32(0) + bytes(8) + text(b"")
GOOD_BODIES = {"Heartbeat 0": (12, 0, HEARTBEAT_0), "Heartbeat 4": (12, 4, HEARTBEAT_4), "JoinGroup 5": (11, 5, JOIN_5),
               "JoinGroup 7": (11, 7, JOIN_7), "OffsetCommit 2": (8, 2, COMMIT_2)}  # fmt: skip


def join_5(protocols: bytes, group: bytes = text(b"g"), member: bytes = text(b"")) -> bytes:
    return whole(11, 5, group + int32(10000) + int32(10000) + member + b"\xff\xff" + text(b"other") + protocols)


def join_7(protocols: bytes, group: bytes = compact(b"g"), tail: bytes = b"\0") -> bytes:
    return whole(11, 7, group + int32(10000) + int32(10000) + compact(b"") + b"\0" + compact(b"other") + protocols + tail)


def sync_3(assignments: bytes) -> bytes:
    return whole(14, 3, text(b"g") + int32(1) + text(b"m") + b"\xff\xff" + assignments)


GROUP_APIS = (JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, OFFSET_COMMIT)


def bad_headers() -> list[Case]:
    cases = [Case(f"unknown api key {key}", framed(head(key, 0))) for key in (93, 999, 32767, -1)]
    cases += [Case(f"api of controllers and brokers {key}", framed(head(key, 0) + bytes(40))) for key in (4, 7, 52, 58, 62, 67)]
    served = load("kafka-4.3").versions
    versions = [(key, version) for key in GROUP_APIS for version in (served[key][1] + 1, 99, -1)]
    versions += [(OFFSET_COMMIT, served[OFFSET_COMMIT][0] - 1), (METADATA, 99), (METADATA, -1)]
    versions += [(OFFSET_FETCH, version) for version in (served[OFFSET_FETCH][1] + 1, served[OFFSET_FETCH][0] - 1)]
    cases += [Case(f"{APIS[key].name} version {version}", framed(head(key, version) + bytes(40))) for key, version in versions]
    cases += [Case(f"frame of {size} bytes", framed((head(12, 0) + HEARTBEAT_0)[:size])) for size in (0, 1, 2, 4, 7, 8, 9)]
    cases += [Case(f"frame length {size}", int32(size)) for size in (-1, -(2**31), BYTE_LIMIT + 1, 2**31 - 1)]
    cases += [
        Case("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        Case("TLS hello", bytes.fromhex("16030100c8010000c40303") + bytes(64)),
        Case("client id longer than the frame", framed(head(12, 0, b"\x7f\xffraw") + HEARTBEAT_0)),
        Case("no tag section before a flexible ApiVersions", framed(head(18, 3, tags=b"") + compact(b"x") + compact(b"1"))),
        Case("ApiVersions 3 without a body", framed(head(18, 3))),
        Case("unknown ApiVersions version without a tag section", framed(head(18, 5, tags=b""))),
    ]
    return cases


def cut_bodies() -> list[Case]:
    return [
        Case(f"{name} cut after {size}", whole(key, version, body[:size]))
        for name, (key, version, body) in GOOD_BODIES.items()
        for size in range(len(body))
    ]


def bad_strings() -> list[Case]:
    long = b"x" * 32768
    rest_0, rest_4 = int32(1) + text(b"m"), int32(1) + compact(b"m") + b"\0\0"
    cases = [Case(f"string of length {size}", whole(12, 0, size.to_bytes(2, "big", signed=True) + rest_0)) for size in (-1, -2, 32767)]
    cases += [
        Case("compact null string", whole(12, 4, b"\0" + rest_4)),
        Case("compact string of 2^31-1", whole(12, 4, varint(2**31 - 1) + b"g" + rest_4)),
        Case("compact string above 32767 with all its bytes", whole(12, 4, compact(long) + rest_4)),
        Case("compact string beyond the frame", whole(12, 4, varint(100) + b"g" + rest_4)),
        Case("varint of six bytes", whole(12, 4, b"\x82\x80\x80\x80\x80\x00g" + rest_4)),
        Case("varint ff ff ff ff 0f", whole(12, 4, b"\xff\xff\xff\xff\x0fg" + rest_4)),
        Case("null group id in JoinGroup", join_5(int32(1) + PROTOCOL, group=b"\xff\xff")),
        Case("null member id in JoinGroup", join_5(int32(1) + PROTOCOL, member=b"\xff\xff")),
    ]
    for key, name in ((15, "DescribeGroups"), (42, "DeleteGroups")):
        cases.append(Case(f"null element in {name}", whole(key, 0, int32(1) + b"\xff\xff")))
    return cases


def bad_bytes_and_arrays() -> list[Case]:
    cases = []
    for size in (-1, -2, 2**31 - 1):
        cases.append(Case(f"JoinGroup metadata of {size}", join_5(int32(1) + text(b"range") + int32(size) + b"abc")))
        cases.append(Case(f"SyncGroup assignment of {size}", sync_3(int32(1) + text(b"m") + int32(size) + b"abc")))
    topic = text(b"t")
    commit = text(b"g") + int32(-1) + text(b"") + b"\xff" * 8
    for count in (-1, -2, -(2**31), 2**31 - 1):
        number = int32(count)
        cases += [
            Case(f"JoinGroup array of {count}", join_5(number + PROTOCOL)),
            Case(f"SyncGroup array of {count}", sync_3(number + text(b"m") + int32(0))),
            Case(f"LeaveGroup 3 array of {count}", whole(13, 3, text(b"g") + number + text(b"m") + b"\xff\xff")),
            Case(f"OffsetCommit topics of {count}", whole(8, 2, commit + number)),
            Case(f"OffsetCommit partitions of {count}", whole(8, 2, commit + int32(1) + topic + number)),
            Case(f"OffsetFetch 1 array of {count}", whole(9, 1, text(b"g") + number)),
            Case(f"OffsetDelete array of {count}", whole(47, 0, text(b"g") + number)),
            Case(f"DescribeGroups array of {count}", whole(15, 0, number)),
            Case(f"DeleteGroups array of {count}", whole(42, 0, number)),
            Case(f"Metadata 0 array of {count}", whole(3, 0, number)),
        ]
    cases += [
        Case("compact null array in JoinGroup 7", join_7(b"\0")),
        Case("compact null array in ListGroups 4", whole(16, 4, b"\0\0")),
        Case("compact null array in OffsetFetch 8", whole(9, 8, b"\0\0\0")),
        Case("compact null array in FindCoordinator 4", whole(10, 4, b"\0\0\0")),
        Case("compact array of 2^31-1", join_7(varint(2**31 - 1) + compact(b"range") + compact(b"abc") + b"\0")),
        Case("array of 1000 with one element", join_5(int32(1000) + PROTOCOL)),
        Case("array of 2 with one element", join_5(int32(2) + PROTOCOL)),
    ]
    return cases


def bad_tags() -> list[Case]:
    body = HEARTBEAT_4[:-1]
    return [
        Case("more tags than there are", whole(12, 4, body + b"\2\x05\1a")),
        Case("tag longer than the frame", whole(12, 4, body + b"\1\x05\x7fa")),
        Case("2^31-1 tags", whole(12, 4, body + varint(2**31 - 1))),
        Case("last tag byte missing", whole(12, 4, body)),
        Case("header tag longer than the frame", framed(head(12, 4, tags=b"\1\x05\xff\xff\x03a") + HEARTBEAT_4)),
    ]


CLOSED = bad_headers() + cut_bodies() + bad_strings() + bad_bytes_and_arrays() + bad_tags()


def accepted() -> list[Case]:
    ids = {"null": b"\xff\xff", "empty": b"\0\0", "of length -2": b"\xff\xfe", "of length -32768": b"\x80\0", "not UTF-8": b"\0\2\xff\xfe"}
    cases = [Case(f"client id {name}", framed(head(12, 0, client) + HEARTBEAT_0)) for name, client in ids.items()]
    cases += [
        Case(f"correlation id {number}", framed(head(12, 0, correlation=number) + HEARTBEAT_0), int32(number)) for number in (-1, -(2**31))
    ]
    for name, (key, version, body) in {**GOOD_BODIES, "ApiVersions 0": (18, 0, b"")}.items():
        cases += [Case(f"{more} bytes after {name}", whole(key, version, body + b"\xaa" * more)) for more in (1, 100)]
    bad, seen = b"a\xffz\xc0", b"a\xef\xbf\xbdz\xef\xbf\xbd"
    cases += [
        Case("group id not UTF-8", whole(12, 0, text(bad) + int32(1) + text(b"m"))),
        Case("member id not UTF-8", join_5(int32(1) + PROTOCOL, member=text(bad)), seen),
        Case("FindCoordinator key not UTF-8", whole(10, 4, b"\0" + varint(2) + compact(bad) + b"\0"), seen),
        Case("DescribeGroups id not UTF-8", whole(15, 0, int32(1) + text(bad)), seen),
        Case("overlong varint", whole(12, 4, b"\x82\x00g" + HEARTBEAT_4[2:])),
        Case("array of 0 with stray bytes", whole(15, 0, int32(0) + b"\1\2\3\4")),
        Case("unknown tag in the body", whole(12, 4, HEARTBEAT_4[:-1] + b"\1\x63\3abc")),
        Case("the same tag twice", whole(12, 4, HEARTBEAT_4[:-1] + b"\2\x05\1a\x05\1b")),
        Case("tags descending", whole(12, 4, HEARTBEAT_4[:-1] + b"\2\x06\1a\x05\1b")),
        Case("unknown tag in the header", framed(head(12, 4, tags=b"\1\x63\3abc") + HEARTBEAT_4)),
        Case("bool of 7", whole(3, 4, int32(0) + b"\7")),
    ]
    return cases


GOOD = whole(18, 0, b"")


@pytest.mark.parametrize("case", CLOSED, ids=lambda case: case.name)
async def test_closes_the_connection(stand, case):
    other, wire = await stand.wire(), await stand.wire()
    wire.write(GOOD + case.data)
    assert (await wire.receive())[:4] == int32(CORRELATION), "the good request before it is answered first"
    assert await wire.ended() == b""
    closed = stand.rows.of("close")
    assert [row.by for row in closed] == ["server"] and closed[0].reason
    assert len(stand.rows.of("request")) == 1, "nothing of it reached the core"
    assert (await other.exchange(GOOD))[:4] == int32(CORRELATION), "others notice nothing"


@pytest.mark.parametrize("case", accepted(), ids=lambda case: case.name)
async def test_is_accepted(stand, case):
    wire = await stand.wire()
    answer = await wire.exchange(case.data)
    assert case.echo in answer
    assert (await wire.exchange(GOOD))[:4] == int32(CORRELATION), "the connection stays open"
    assert stand.rows.of("close") == []


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
@pytest.mark.parametrize("body", [b"", b"\xff\xff\xff"], ids=["no body", "garbage"])
async def test_api_versions_in_an_unknown_version_is_answered_in_version_0(stand, version, body):
    wire = await stand.wire()
    assert await wire.exchange(framed(head(18, version) + body)) == int32(CORRELATION) + bytes.fromhex("0023 00000001 0012 0000 0004")
    assert (await wire.exchange(GOOD))[:4] == int32(CORRELATION)


@pytest.mark.parametrize("name", ["", "a b", "-x", "x_y", "x-"])
async def test_api_versions_with_a_bad_software_name_is_error_42_in_its_own_version(stand, name):
    wire = await stand.wire()
    for fields in (
        {"client_software_name": name, "client_software_version": "1"},
        {"client_software_name": "x", "client_software_version": name},
    ):
        payload = encode_request_header(RequestHeader(18, 3, CORRELATION, None)) + encoded(18, 3, **fields)
        answer = await wire.exchange(framed(payload))
        decoded = APIS[18].response.decode(3, answer[4:])
        assert (decoded.error_code, decoded.api_keys) == (42, [])
