"""Decodes observed frames: requests as a broker does, answers as a client does. A frame that groupmock cannot decode is opaque, and so is a
request that is too long to be kept (`record.cutting`).

Only the header of an opaque frame is recorded. Its body may hold secrets (SASL tokens, SCRAM credentials, delegation tokens), so no row has
any part of it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from groupmock_codec import APIS
from groupmock_codec.errors import DecodeError, EncodeError, Place
from groupmock_codec.headers import answer_version, decode_response_header, response_header_version

from ..net.codecs import ApiCodec
from ..net.details import SECRETS

if TYPE_CHECKING:
    from collections.abc import Callable

    from groupmock_codec.declare import Message

REQUEST_ELEMENTS: Final = 30_000
ANSWER_ELEMENTS: Final = 1_000_000
"""At most this many array elements of one answer are read for its rows. A request may have as many as a server reads (`net.limits`); an
answer may have more, because the Metadata of a large cluster has some 10^5 elements."""
HEADER_BYTES: Final = 10
"""The bytes of key, version, correlation id and client id length, which every version of the header has (KIP-482)."""


class WireCodec(ApiCodec):
    """Decodes the requests and answers of an API version that groupmock knows."""

    opaque: Final = False

    def __init__(self, key: int, version: int) -> None:
        super().__init__(key, version, REQUEST_ELEMENTS)
        self._answer_header = response_header_version(key, version)

    def read_answer(self, frame: bytes) -> Message:
        """Decode an answer's frame (without its length). Raises DecodeError, also for bytes left over, as clients do."""
        _, _, at = decode_response_header(frame, self._answer_header)
        message, end = self._decode_answer(frame, at)
        if end != len(frame):
            raise DecodeError(f"{self.name} v{self.version} cannot be read", Place(f"{len(frame) - end} bytes left over", offset=end))
        return message

    def asking(self, frame: bytes, message: Message) -> bytes:
        """Return a request's frame (without its length) in which the message after the header is replaced."""
        return frame[: self.header(frame)[1]] + APIS[self.key].request.encode(self.version, message)

    @cached_property
    def _decode_answer(self) -> Callable[[bytes, int], tuple[Message, int]]:
        return APIS[self.key].response.decoder(self.version, ANSWER_ELEMENTS)


class Opaque:
    """Stands for an API version that groupmock does not know, whose frames pass unchanged."""

    opaque: Final = True

    def __init__(self, key: int, version: int, size: int = 0) -> None:
        """Make the codec; `size` is set for a request that is too long to be read."""
        self.key = key
        self.version = version
        known = key in APIS
        self.name = APIS[key].name if known else f"Api{key}"
        other = known and version not in APIS[key].versions
        span = f": groupmock reads versions {APIS[key].versions}" if other else ""
        what = f"version {version} of {self.name}" if other else self.name
        what += f" with {size} bytes" if size else ""
        self.note = f"{what} is not decoded{span}: neither this request nor its answer is kept"

    def answer(self, correlation: bytes, message: Message) -> bytes:
        """Raise EncodeError, because an answer of an unknown API cannot be written. No rule matches such a request."""
        raise EncodeError(f"{self.name} v{self.version} cannot be written", Place("it is not decoded"))


Codec = WireCodec | Opaque


class WireCodecs(dict[bytes, Codec]):
    """Maps the first four bytes of a request's frame (key and version) to its codec, made on first use; at most `MOST` codecs are kept."""

    MOST: Final = 4096
    """This limit is above the number of versions that Kafka has; a peer that sends made-up versions must not fill the memory."""

    def of_answer(self, codec: Codec, frame: bytes) -> Codec:
        """Return the codec of an answer, whose frame has no length, to a request of that codec."""
        version = answer_version(codec.key, codec.version, frame)
        return codec if version == codec.version else self[codec.key.to_bytes(2, "big") + version.to_bytes(2, "big")]

    def __missing__(self, start: bytes) -> Codec:
        key, version = int.from_bytes(start[:2], "big", signed=True), int.from_bytes(start[2:], "big", signed=True)
        if len(self) >= self.MOST:
            self.clear()
        readable = key in APIS and version in APIS[key].versions and key not in SECRETS
        found: Codec = WireCodec(key, version) if readable else Opaque(key, version)
        self[start] = found
        return found


def client_id_of(frame: bytes) -> str | None:
    """Return the client id of a header of unknown version, because its offset is the same in all versions. None if it is null or cut."""
    length = int.from_bytes(frame[8:HEADER_BYTES], "big", signed=True)
    if length < 0 or len(frame) < HEADER_BYTES + length:
        return None
    return frame[HEADER_BYTES : HEADER_BYTES + length].decode("utf-8", "replace")


def plausible(frame: bytes) -> bool:
    """Return whether these bytes could be a request and not a raw SASL token. The check is needed only where tokens may come
    (SaslHandshake v0, docs/kafka/security.md)."""
    if len(frame) < HEADER_BYTES:
        return False
    key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
    length = int.from_bytes(frame[8:HEADER_BYTES], "big", signed=True)
    return key in APIS and version in APIS[key].versions and -1 <= length <= len(frame) - HEADER_BYTES
