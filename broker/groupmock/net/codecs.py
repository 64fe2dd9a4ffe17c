"""The codecs of served requests: one `ApiCodec` for each advertised (api, version), compiled at first use.

What is not advertised is refused with a reason; only ApiVersions has an answer for that (KIP-511).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from groupmock_codec import APIS
from groupmock_codec.api_keys import API_VERSIONS, HEARTBEAT
from groupmock_codec.declare import Message
from groupmock_codec.error_codes import UNSUPPORTED_VERSION
from groupmock_codec.errors import CodecError
from groupmock_codec.headers import RequestHeader, decode_request_header, peek, request_header_version, response_header_version

from ..journal.rows import NOT_SERVED, UNSERVED

if TYPE_CHECKING:
    from ..core.identity import ApiRange

BEATS: Final = {HEARTBEAT: "Heartbeat", 68: "ConsumerGroupHeartbeat"}
"""Requests that a member repeats unchanged, and whose answer may be repeated (`net.repeat`)."""
UNKNOWN_VERSION_TAGS: Final = 1000
"""The largest number of tagged fields in the header of an ApiVersions request of an unknown version; clients send none."""
QUICK: Final = (8, 11, 12, 13, 14, 18)
"""OffsetCommit, JoinGroup, Heartbeat, LeaveGroup, SyncGroup and ApiVersions. A SHORT one of these is so cheap that the clock need not be
read."""
SHORT: Final = 4096
"""The number of bytes of a short frame."""
CLIENT_IDS: Final = 1000
"""The number of client ids that are remembered."""

_client_ids: dict[bytes, str] = {}  # as on the wire, with its length -> text


class Refused(Exception):
    """The request is one for which Kafka closes the connection. The text is the reason for the journal."""

    budget: Final = False
    """False as in `CodecError.budget`: the request is wrong, and not too expensive."""


def why(refusal: Refused | CodecError) -> str:
    """Return the reason for the journal. The codec knows the limit of elements only as a number; the setting is named here."""
    return f"{refusal}: ask for less at once, or raise groupmock.request.max.elements" if refusal.budget else str(refusal)


class ApiCodec:
    """The codec of one API in one version: request in, response out. `max_elements` limits a request (`Limits.request_max_elements`)."""

    def __init__(self, key: int, version: int, max_elements: int | None = None) -> None:
        self.key = key
        self.version = version
        self._max_elements = max_elements
        self.name = APIS[key].name
        self._header = request_header_version(key, version)
        self._flexible = self._header == 2
        # No byte for ApiVersions, whose answer has header 0 in every version, because its reader does not know the versions yet
        # (docs/kafka/clients.md#version-quirks, 3).
        self._after_correlation = b"\0" if response_header_version(key, version) else b""
        self.beats = key in BEATS
        self.quick_below = SHORT if key in QUICK else 0  # in bytes of a request
        self._before_body = 4 + len(self._after_correlation)

    def header(self, frame: bytes) -> tuple[str | None, int]:
        """Return the client id and the start of the body. Raises DecodeError. The usual header is read here, and a known client id gives
        the same object again; anything unusual is left to the codec."""
        try:
            end = 10 + (frame[8] << 8 | frame[9])
            client = _client_ids.get(frame[8:end])
            if client is not None:
                if not self._flexible:
                    return client, end
                # A header may have tags, which Kafka ignores (docs/kafka/seen-on-brokers.md#bad-bytes): they are read by the codec.
                if frame[end] == 0:
                    return client, end + 1
        # The header is cut: the codec finds it again and says what is missing.
        except IndexError:
            pass
        return self._unusual(frame)

    def _unusual(self, frame: bytes) -> tuple[str | None, int]:
        header, at = decode_request_header(frame, self._header, self._max_elements)
        if header.client_id is not None:
            if len(_client_ids) >= CLIENT_IDS:
                # A client that makes up an id per connection must not fill the memory; forgetting all costs each id one slow read.
                _client_ids.clear()
            end = 10 + int.from_bytes(frame[8:10], "big")
            _client_ids[frame[8:end]] = header.client_id
        return header.client_id, at

    @cached_property
    def decode(self) -> Callable[[bytes, int], tuple[Message, int]]:
        """The function (frame, offset) -> (request, end). It raises DecodeError, and TooManyElements for a request that only costs too
        much."""
        return APIS[self.key].request.decoder(self.version, self._max_elements)

    @cached_property
    def encode(self) -> Callable[[Message], bytes]:
        """The function from a response to its body. It raises EncodeError."""
        return APIS[self.key].response.encoder(self.version)

    def answer(self, correlation: bytes, message: Message) -> bytes:
        """Return the whole response frame with its length. Raises EncodeError."""
        body = self.encode(message)
        size = self._before_body + len(body)
        # one join, so that the body, which may be large, is copied once
        return size.to_bytes(4, "big") + correlation + self._after_correlation + body

    def warm_up(self) -> None:
        """Compile both halves now, before a request needs them."""
        for _ in (self.decode, self.encode):
            pass


class Codecs(dict[bytes, ApiCodec]):
    """The codecs by the first four bytes of a frame (api key and version). Asking for one that is not advertised raises Refused.
    `max_elements` limits a request; None: no limit."""

    def __init__(self, advertised: Iterable[ApiRange], max_elements: int | None = None) -> None:
        super().__init__()
        self.advertised = {row.key: row for row in advertised}
        self._max_elements = max_elements

    def __missing__(self, start: bytes) -> ApiCodec:
        if len(start) < 4:
            raise Refused(f"a frame of {len(start)} bytes holds no request header")
        # Signed: Kafka closes on key -1 and version -1 too (docs/kafka/seen-on-brokers.md#bad-bytes), and the reason names them.
        key, version = int.from_bytes(start[:2], "big", signed=True), int.from_bytes(start[2:], "big", signed=True)
        row = self.advertised.get(key)
        if row is None:
            name = f" ({APIS[key].name})" if key in APIS else ""
            raise Refused(UNSERVED.get(key) or f"api key {key}{name} is not served")
        if not row.lowest <= version <= row.highest:
            raise Refused(NOT_SERVED.format(api=APIS[key].name, version=version, lowest=row.lowest, highest=row.highest))
        found = self[start] = ApiCodec(key, version, self._max_elements)
        return found

    def of(self, key: int, version: int) -> ApiCodec:
        """Return the codec of an API key and version."""
        return self[key.to_bytes(2, "big") + version.to_bytes(2, "big")]


def unknown_api_versions(frame: bytes, advertised: dict[int, ApiRange]) -> tuple[RequestHeader, Message, bytes] | None:
    """Answer ApiVersions in a version that is not served: return header, answer, and the answer's frame; None for any other frame.

    The body is not read, the header must be right (P2-d12). The answer is in version 0 with error 35 and the row of ApiVersions alone.
    Raises DecodeError."""
    row = advertised.get(API_VERSIONS)
    key, version, _ = peek(frame)
    if key != API_VERSIONS or row is None or row.lowest <= version <= row.highest:
        return None
    header, _ = decode_request_header(frame, max_tags=UNKNOWN_VERSION_TAGS)
    from groupmock_codec.messages.k18_api_versions import ApiVersion, ApiVersionsResponse

    # Kafka sends this row alone (P2-d12). It is all that a second try needs: kafka-python takes the highest version of key 18 from it, and
    # an answer in any other form than v0 keeps it from connecting (docs/kafka/clients.md#version-quirks, 2).
    own = ApiVersion(api_key=API_VERSIONS, min_version=row.lowest, max_version=row.highest)
    answer = ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=[own])
    return header, answer, ApiCodec(API_VERSIONS, 0).answer(frame[4:8], answer)
