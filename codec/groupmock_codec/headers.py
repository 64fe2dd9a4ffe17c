"""Encodes and decodes request headers v0 to v2 and response headers v0 and v1, and chooses the header for an API and version.

The first eight bytes of a request header are the same in every version; the client id stays an int16-length string in v2, which only adds
a tagged section (KIP-482). ApiVersions is always answered with header v0, so that any client can read the answer (KIP-511).
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import Final

import msgspec

from .declare import NO_TAGS, TAGS
from .error_codes import UNSUPPORTED_VERSION
from .errors import DecodeError, EncodeError, Place, TooManyElements
from .registry import APIS
from .runtime import JAVA_TEXT, Refused, read_counted_tags, read_uvarint, too_many, write_tags

API_VERSIONS: Final = 18
CONTROLLED_SHUTDOWN: Final = 7
_unsupported = UNSUPPORTED_VERSION.to_bytes(2, "big")
_start = Struct(">hhi")
_start_and_length = Struct(">hhih")


class RequestHeader(msgspec.Struct, frozen=True, gc=False):
    """The header of a request. `client_id` None is null on the wire (any negative length is read so)."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None
    unknown_tags: dict[int, bytes] = NO_TAGS


def request_header_version(api_key: int, api_version: int) -> int:
    """Return the version of the request header: 0, 1 or 2. An unknown version of ApiVersions has one too: v2 from version 3 on, else v1
    (seen on brokers)."""
    if api_key == CONTROLLED_SHUTDOWN and api_version == 0:
        return 0
    api = APIS.get(api_key)
    return 2 if api is not None and api.flexible_from is not None and api_version >= api.flexible_from else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """Return the version of the response header: 0 or 1. That of ApiVersions is always 0."""
    return 0 if api_key == API_VERSIONS else max(0, request_header_version(api_key, api_version) - 1)


def answer_version(api_key: int, api_version: int, frame: bytes) -> int:
    """Return the version of an answer, whose frame has no length, to a request of that API and version. A broker that does not have the
    version of an ApiVersions answers in version 0 with UNSUPPORTED_VERSION (KIP-511)."""
    return 0 if api_key == API_VERSIONS and frame[4:6] == _unsupported else api_version


def peek(data: bytes) -> tuple[int, int, int]:
    """Return the API key, API version and correlation id of a request frame. DecodeError if it is shorter than eight bytes."""
    try:
        return _start.unpack_from(data)
    except StructError:
        raise DecodeError("request header cannot be read", Place(f"{len(data)} bytes, 8 are needed")) from None


def decode_request_header(data: bytes, version: int | None = None, max_tags: int | None = None) -> tuple[RequestHeader, int]:
    """Decode the header of a request frame, and return it with the offset of the body. `version` is that of the header, by default the
    API's own. More than `max_tags` tagged fields raise TooManyElements (None: any number)."""
    try:
        key, api_version, correlation, length = _start_and_length.unpack_from(data)
    except StructError:
        return _short_header(data, version)
    if version is None:
        version = request_header_version(key, api_version)
    if version == 0:
        return RequestHeader(key, api_version, correlation), 8
    end, client = 10, None
    if length >= 0:
        end += length
        if end > len(data):
            raise DecodeError("request header cannot be read", Place(f"client id of {length} bytes ends beyond the frame", "client_id", 10))
        client = data[10:end].decode("utf-8", JAVA_TEXT)
    if version == 1:
        return RequestHeader(key, api_version, correlation, client), end
    if end < len(data) and not data[end]:
        return RequestHeader(key, api_version, correlation, client), end + 1
    tags, end = _tags(data, end, "request header", max_tags)
    return RequestHeader(key, api_version, correlation, client, tags), end


def _short_header(data: bytes, version: int | None) -> tuple[RequestHeader, int]:
    """Decode the header of a request frame of less than ten bytes. Header v0 fits into it, others do not."""
    key, api_version, correlation = peek(data)
    if (request_header_version(key, api_version) if version is None else version) > 0:
        raise DecodeError("request header cannot be read", Place("cut in the length of the client id", "client_id", 8))
    return RequestHeader(key, api_version, correlation), 8


def encode_request_header(header: RequestHeader, version: int | None = None) -> bytes:
    """Return the encoded header of a request, which comes before its body (without the frame's length)."""
    if version is None:
        version = request_header_version(header.api_key, header.api_version)
    try:
        start = _start.pack(header.api_key, header.api_version, header.correlation_id)
        if version == 0:
            return start
        client = None if header.client_id is None else header.client_id.encode()
        length = (-1 if client is None else len(client)).to_bytes(2, signed=True)
        return b"".join((start, length, client or b"", write_tags({}, header.unknown_tags) if version >= 2 else b""))
    except (StructError, Refused, OverflowError, UnicodeEncodeError) as error:
        raise EncodeError("request header cannot be written", Place(str(error) or "bad tagged fields")) from None


def decode_response_header(data: bytes, version: int) -> tuple[int, dict[int, bytes], int]:
    """Decode the header of a response frame, and return (correlation id, unknown tags, offset of the body)."""
    if len(data) < 4:
        raise DecodeError("response header cannot be read", Place(f"{len(data)} bytes, 4 are needed"))
    correlation = int.from_bytes(data[:4], signed=True)
    if version == 0:
        return correlation, NO_TAGS, 4
    tags, end = _tags(data, 4, "response header")
    return correlation, tags, end


def encode_response_header(correlation_id: int, version: int, unknown_tags: dict[int, bytes] = NO_TAGS) -> bytes:
    """Return the encoded header of a response, which comes before its body (without the frame's length)."""
    try:
        start = correlation_id.to_bytes(4, signed=True)
        return start + (write_tags({}, unknown_tags) if unknown_tags else b"\0") if version else start
    except (OverflowError, Refused) as error:
        raise EncodeError("response header cannot be written", Place(str(error) or "bad tagged fields", "correlation_id")) from None


def _tags(data: bytes, offset: int, what: str, most: int | None = None) -> tuple[dict[int, bytes], int]:
    try:
        if data[offset] == 0:
            return NO_TAGS, offset + 1
        count, begin = read_uvarint(data, offset)
        if most is not None and count > most:
            raise TooManyElements(f"{what} cannot be read", Place(too_many(count, most, most), TAGS, begin))
        return read_counted_tags(data, begin, count)
    except (IndexError, Refused):
        raise DecodeError(f"{what} cannot be read", Place("broken tagged fields", TAGS, offset)) from None
