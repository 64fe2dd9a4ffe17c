"""Request and response headers have the right version for each API, and unusual headers are read as Kafka reads them."""

from __future__ import annotations

import pytest
from cases import for_each

from groupmock_codec import APIS, DecodeError, EncodeError
from groupmock_codec.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    peek,
    request_header_version,
    response_header_version,
)

START = bytes.fromhex("000b 0004 00000007")  # The header starts with the API key of JoinGroup, version 4 and correlation id 7.


@for_each("key", list(APIS))
def test_header_versions_follow_the_flexible_versions(key: int) -> None:
    api = APIS[key]
    for version in api.versions.every:
        flexible = api.request.flexible(version)
        assert request_header_version(key, version) == (2 if flexible else 1)
        assert response_header_version(key, version) == (1 if flexible and key != 18 else 0)


@for_each(("version", "header"), [(-1, 1), (0, 1), (2, 1), (3, 2), (4, 2), (5, 2), (99, 2), (32767, 2)])
def test_api_versions_of_unknown_versions_have_headers_too(version: int, header: int) -> None:
    assert request_header_version(18, version) == header
    assert response_header_version(18, version) == 0


def test_unknown_keys_have_header_1() -> None:
    assert request_header_version(999, 0) == 1


def test_controlled_shutdown_0_has_no_client_id() -> None:
    header = RequestHeader(7, 0, 5)
    assert encode_request_header(header) == bytes.fromhex("0007 0000 00000005")
    assert decode_request_header(encode_request_header(header)) == (header, 8)


@for_each(
    ("client", "expected"),
    [
        ("ffff", None),
        ("fffe", None),
        ("8000", None),
        ("0000", ""),
        ("0002 6d65", "me"),
        ("0003 6dff65", "m\ufffde"),
    ],
)
def test_client_ids(client: str, expected: str | None) -> None:
    data = START + bytes.fromhex(client)
    assert decode_request_header(data + b"body") == (RequestHeader(11, 4, 7, expected), len(data))


@for_each("client_id", [None, "", "me", "é消"])
@for_each("version", [4, 9])
@for_each("correlation", [0, 7, -1, -(2**31), 2**31 - 1])
def test_request_headers_come_back(client_id: str | None, version: int, correlation: int) -> None:
    header = RequestHeader(11, version, correlation, client_id)
    data = encode_request_header(header)
    assert decode_request_header(data + b"body") == (header, len(data))
    assert peek(data) == (11, version, correlation)


def test_tagged_fields_of_headers_are_kept() -> None:
    header = RequestHeader(11, 9, 7, "me", {0: b"a", 5: b"bc"})
    data = encode_request_header(header)
    assert data.endswith(bytes.fromhex("02 00 01 61 05 02 6263"))
    assert decode_request_header(data) == (header, len(data))
    answer = encode_response_header(7, 1, {3: b"x"})
    assert decode_response_header(answer + b"body", 1) == (7, {3: b"x"}, len(answer))


@for_each("size", [0, 1, 2, 4, 7, 8, 9])
def test_headers_that_are_cut_are_refused(size: int) -> None:
    with pytest.raises(DecodeError):
        decode_request_header((START + b"\xff\xff")[:size])


@for_each(
    "rest",
    [
        "0003 6d65",  # The client id claims to be longer than the frame.
        "7fff 6d65",
    ],
)
def test_client_ids_beyond_the_frame_are_refused(rest: str) -> None:
    with pytest.raises(DecodeError, match="client_id"):
        decode_request_header(START + bytes.fromhex(rest))


@for_each("tags", ["", "01", "01 00", "01 00 05 61", "ffffffff07", "01 00 ffffffff0f"])
def test_broken_tags_of_a_flexible_header_are_refused(tags: str) -> None:
    flexible = bytes.fromhex("0012 0003 00000007 ffff")
    with pytest.raises(DecodeError, match="unknown_tags"):
        decode_request_header(flexible + bytes.fromhex(tags))


def test_response_headers() -> None:
    assert encode_response_header(-2, 0) == bytes.fromhex("fffffffe")
    assert encode_response_header(7, 1) == bytes.fromhex("00000007 00")
    assert decode_response_header(bytes.fromhex("fffffffe aa"), 0) == (-2, {}, 4)
    for data, version in ((b"\0\0\0", 0), (b"\0\0\0\7", 1), (b"\0\0\0\7\1", 1)):
        with pytest.raises(DecodeError):
            decode_response_header(data, version)


@for_each(
    "header",
    [RequestHeader(40000, 0, 0), RequestHeader(11, 4, 2**31), RequestHeader(11, 4, 0, "x" * 32768), RequestHeader(11, 9, 0, "", {-1: b""})],
)
def test_headers_that_cannot_be_written(header: RequestHeader) -> None:
    with pytest.raises(EncodeError):
        encode_request_header(header)


def test_response_headers_that_cannot_be_written() -> None:
    for correlation, tags in ((2**31, {}), (0, {-1: b""})):
        with pytest.raises(EncodeError):
            encode_response_header(correlation, 1, tags)
