"""Codecs for the served requests: one `ApiCodec` for each advertised API key and version, compiled on first use. Requests of other
versions are refused with a reason; only ApiVersions has an answer for that (KIP-511)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from groupmock_codec import APIS
from groupmock_codec.api_keys import API_VERSIONS, HEARTBEAT
from groupmock_codec.compiled import decoder_title, encoder_title
from groupmock_codec.declare import Message
from groupmock_codec.error_codes import UNSUPPORTED_VERSION
from groupmock_codec.errors import CodecError
from groupmock_codec.headers import RequestHeader, decode_request_header, peek, request_header_version, response_header_version
from groupmock_codec.kept_code import kept_code
from groupmock_codec.response_errors import error_codes, errors_title

from ..journal.rows import NOT_SERVED, UNSERVED

if TYPE_CHECKING:
    from ..core.identity import ApiRange

BEATS: Final = {HEARTBEAT: "Heartbeat", 68: "ConsumerGroupHeartbeat", 76: "ShareGroupHeartbeat", 88: "StreamsGroupHeartbeat"}
"""APIs whose requests a member repeats unchanged, so that `net.repeat` may repeat their answers."""
UNKNOWN_VERSION_TAGS: Final = 1000
"""The largest number of tagged fields in the header of an ApiVersions request of an unknown version; clients send none."""
QUICK: Final = (8, 11, 12, 13, 14, 18)
"""The APIs of a consumer group (OffsetCommit, JoinGroup, Heartbeat, LeaveGroup, SyncGroup) and ApiVersions. A `SHORT` request of one of
these is so cheap that the clock need not be read."""
SHORT: Final = 4096
"""A frame below this size in bytes counts as short."""
CLIENT_IDS: Final = 1000
"""The cache of client ids holds at most this many."""

_client_ids: dict[bytes, str] = {}  # Maps a client id as bytes of the wire, with its length, to its text.


class Refused(Exception):
    """Raised for a request that makes Kafka close the connection. The text is the reason for the journal."""

    budget: Final = False
    """Always False, because a refused request is wrong and not too expensive, unlike some requests with a `CodecError`."""


def why(refusal: Refused | CodecError) -> str:
    """Return the reason that the journal gives for a refused request. The codec knows the limit of elements only as a number; the
    setting is named here."""
    return f"{refusal}: ask for less at once, or raise groupmock.request.max.elements" if refusal.budget else str(refusal)


class ApiCodec:
    """The codec of one version of an API: it decodes requests and encodes responses. `max_elements` limits a request
    (`Limits.request_max_elements`)."""

    def __init__(self, key: int, version: int, max_elements: int | None = None) -> None:
        self.key = key
        self.version = version
        self._max_elements = max_elements
        self.name = APIS[key].name
        self._header = request_header_version(key, version)
        self._flexible = self._header == 2
        # ApiVersions has no byte for tags here, because its answer has header 0 in every version: its reader does not know the versions yet
        # (docs/kafka/clients.md#version-quirks, 3).
        self._after_correlation = b"\0" if response_header_version(key, version) else b""
        self.beats = key in BEATS
        # Requests with fewer bytes than this are cheap enough to be handled without reading the clock.
        self.quick_below = SHORT if key in QUICK else 0
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
                # A header may have tags, which Kafka ignores (docs/kafka/seen-on-brokers.md#bad-bytes). This shortcut is for headers
                # without tags.
                if frame[end] == 0:
                    return client, end + 1
        # The header is cut short: the codec reads it again below and raises an error that names the missing part.
        except IndexError:
            pass
        return self._unusual(frame)

    def _unusual(self, frame: bytes) -> tuple[str | None, int]:
        header, at = decode_request_header(frame, self._header, self._max_elements)
        if header.client_id is not None:
            if len(_client_ids) >= CLIENT_IDS:
                # A client that makes up an id for each connection must not fill the memory. Once the table is emptied, each client id has
                # to be decoded again.
                _client_ids.clear()
            end = 10 + int.from_bytes(frame[8:10], "big")
            _client_ids[frame[8:end]] = header.client_id
        return header.client_id, at

    @cached_property
    def decode(self) -> Callable[[bytes, int], tuple[Message, int]]:
        """Return the compiled function that decodes a request: (frame, offset) -> (request, end). It raises DecodeError, and
        TooManyElements for a request that only costs too much."""
        return APIS[self.key].request.decoder(self.version, self._max_elements)

    @cached_property
    def encode(self) -> Callable[[Message], bytes]:
        """Return the compiled function that encodes a response body. It raises EncodeError."""
        return APIS[self.key].response.encoder(self.version)

    def answer(self, correlation: bytes, message: Message) -> bytes:
        """Return the whole response frame, including the length before it. Raises EncodeError."""
        body = self.encode(message)
        size = self._before_body + len(body)
        # The parts are joined in one call, which copies the body, perhaps a large one, only once.
        return size.to_bytes(4, "big") + correlation + self._after_correlation + body

    @property
    def kept(self) -> bool:
        """True if an earlier process has kept the code of all functions, so that they need not be compiled."""
        request, response = (codec.message for codec in (APIS[self.key].request, APIS[self.key].response))
        of_response = encoder_title(response, self.version), errors_title(response, self.version)
        titles = decoder_title(request, self.version, self._max_elements), *of_response
        return all(title in kept_code(request.__module__) for title in titles)

    def warm_up(self) -> None:
        """Compile the encoder, the decoder and the search for error codes now, before a request needs them."""
        for _ in (self.decode, self.encode, error_codes(APIS[self.key].response.message, self.version)):
            pass


class Codecs(dict[bytes, ApiCodec]):
    """Maps the first four bytes of a frame (API key and version) to the codec. A look-up of a version that is not advertised raises
    Refused. `max_elements` limits the elements of a request (None: no limit)."""

    def __init__(self, advertised: Iterable[ApiRange], max_elements: int | None = None) -> None:
        super().__init__()
        self.advertised = {row.key: row for row in advertised}
        self._max_elements = max_elements

    def __missing__(self, start: bytes) -> ApiCodec:
        if len(start) < 4:
            raise Refused(f"a frame of {len(start)} bytes holds no request header")
        # The numbers are signed: Kafka closes the connection on key -1 and version -1 too (docs/kafka/seen-on-brokers.md#bad-bytes), and
        # the reason names them.
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
    """Answer an ApiVersions request of a version that is not served; return its header, the answer and the answer's frame, or None for
    any other frame. The body is not read, the header must be right (P2-d12). The answer is in version 0 with UNSUPPORTED_VERSION (35)
    and the row of ApiVersions alone. Raises DecodeError."""
    row = advertised.get(API_VERSIONS)
    key, version, _ = peek(frame)
    if key != API_VERSIONS or row is None or row.lowest <= version <= row.highest:
        return None
    header, _ = decode_request_header(frame, max_tags=UNKNOWN_VERSION_TAGS)
    from groupmock_codec.messages.k18_api_versions import ApiVersion, ApiVersionsResponse

    # Kafka answers with the ApiVersions row alone (P2-d12), and a client's second request needs no more: kafka-python takes the highest
    # version of ApiVersions from it, and an answer in any other form than version 0 keeps it from connecting
    # (docs/kafka/clients.md#version-quirks, 2).
    own = ApiVersion(api_key=API_VERSIONS, min_version=row.lowest, max_version=row.highest)
    answer = ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=[own])
    return header, answer, ApiCodec(API_VERSIONS, 0).answer(frame[4:8], answer)
