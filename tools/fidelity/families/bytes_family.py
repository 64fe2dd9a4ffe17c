"""Generate bad bytes: valid requests of every advertised API and version, spoiled in one place or sent in an unusual way.

A script is one connection: now and then a good request, then the spoiled one, then an ApiVersions request whose answer (or the lack of
it) tells whether the connection was closed, is mute, or goes on. What a hostile input is called is its *class*: docs/proof/bad-bytes.md.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from itertools import count
from typing import Final

from groupmock.config.advertise import advertised
from groupmock.config.profiles import load
from groupmock.rig.wire import framed
from groupmock_codec import api_keys
from groupmock_codec.api_keys import API_VERSIONS
from groupmock_codec.headers import request_header_version

from ..generated.script import Script, raw
from .encoded_parts import NUMBERS, EncodedPart, joined, parts_of, uvarint
from .target import CORRELATION, Case, RequestToSpoil, header
from .valid_requests import RequestMaker

TRIES: Final = 1000
PROBE: Final = 0x70726F62
"""The correlation id of the request with which every script ends."""
INT_MAX: Final = 2**31 - 1
FRAME_LIMIT: Final = 104_857_600
NOT_TEXT: Final = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\x00")


def probe() -> bytes:
    """Return the request with which every script ends, ApiVersions v0."""
    return framed(header(API_VERSIONS, 0, PROBE))


Kind = Callable[[RequestToSpoil], list[bytes] | None]


def _cut_body(target: RequestToSpoil) -> list[bytes] | None:
    body = joined(target.parts)
    return [framed(target.head() + body[: target.rng.randrange(len(body))])] if body else None


def _cut_header(target: RequestToSpoil) -> list[bytes]:
    head = target.head()
    return [framed(head[: target.rng.randrange(len(head))])]


def _trailing(target: RequestToSpoil) -> list[bytes]:
    more = target.rng.randbytes(target.rng.choice((1, 2, 7, 100)))
    return [framed(target.head() + joined(target.parts) + more)]


def _flipped(target: RequestToSpoil, count: int, first: int, data: bytes) -> list[bytes] | None:
    if len(data) <= first:
        return None
    spoiled = bytearray(data)
    for _ in range(count):
        spoiled[target.rng.randrange(first, len(data))] ^= 1 << target.rng.randrange(8)
    return [framed(bytes(spoiled))]


def _flip_body(target: RequestToSpoil) -> list[bytes] | None:
    head = target.head()
    return _flipped(target, 1, len(head), head + joined(target.parts))


def _flip_several(target: RequestToSpoil) -> list[bytes] | None:
    head = target.head()
    return _flipped(target, target.rng.randint(2, 6), len(head), head + joined(target.parts))


def _flip_header(target: RequestToSpoil) -> list[bytes] | None:
    head = target.head()
    flipped = bytearray(head)
    flipped[target.rng.randrange(4, len(head))] ^= 1 << target.rng.randrange(8)
    return [framed(bytes(flipped) + joined(target.parts))]


def _random_body(target: RequestToSpoil) -> list[bytes]:
    return [framed(target.head() + target.rng.randbytes(target.rng.choice((1, 3, 8, 20, 60))))]


def _text_length(value: int) -> Kind:
    def change(part: EncodedPart) -> bytes:
        return struct.pack(">h", value) if part.kind == "length16" else uvarint(max(0, value + 1))

    return lambda target: target.spoiled(("length16", "compact length"), change)


def _bytes_length(value: int) -> Kind:
    def change(part: EncodedPart) -> bytes:
        return struct.pack(">i", value) if part.kind == "length32" else uvarint(max(0, value + 1))

    return lambda target: target.spoiled(("length32", "compact bytes"), change)


def _count(value: int) -> Kind:
    def change(part: EncodedPart) -> bytes:
        return struct.pack(">i", value) if part.kind == "count32" else uvarint(max(0, value + 1) % 2**32)

    return lambda target: target.spoiled(("count32", "compact count"), change)


def _off_by_one(step: int) -> Kind:
    def change(part: EncodedPart) -> bytes:
        if part.kind.startswith("compact") or part.kind in ("tag count", "tag size"):
            return uvarint(max(0, part.data[0] + step)) if len(part.data) == 1 else part.data
        return (int.from_bytes(part.data, signed=True) + step).to_bytes(len(part.data), signed=True)

    kinds = ("length16", "length32", "count32", "compact length", "compact bytes", "compact count", "tag count", "tag size")
    return lambda target: target.spoiled(kinds, change)


def _varint(write: Callable[[int], bytes]) -> Kind:
    kinds = ("compact length", "compact bytes", "compact count", "tag count", "tag size")
    return lambda target: target.spoiled(kinds, lambda part: write(part.data[0] & 0x7F))


def _long_compact_text(target: RequestToSpoil) -> list[bytes] | None:
    places = [place for place, part in enumerate(target.parts) if part.kind == "compact length"]
    if not places:
        return None
    place = target.rng.choice(places)
    after = place + 2 if target.parts[place].data not in (b"\0", b"\1") else place + 1
    long = [EncodedPart("compact length", uvarint(32769), ""), EncodedPart("text", b"x" * 32768, "")]
    return target.with_parts([*target.parts[:place], *long, *target.parts[after:]])


def _not_text(target: RequestToSpoil) -> list[bytes] | None:
    def change(part: EncodedPart) -> bytes:
        bad = target.rng.choice(NOT_TEXT)
        return (bad + part.data)[: len(part.data)] if target.rng.random() < 0.5 else (part.data + bad)[-len(part.data) :]

    return target.spoiled(("text",), change)


def _tags(section: Callable[[random.Random], bytes]) -> Kind:
    return lambda target: target.spoiled(("tag count",), lambda part: section(target.rng)) if not _told(target) else None


def _told(target: RequestToSpoil) -> bool:
    """Tell whether the request has a known tagged field, whose bytes would be displaced by another tag section."""
    return any(part.kind == "tag" for part in target.parts)


def _header_tags(section: bytes) -> Kind:
    return lambda target: [framed(target.head(tags=section) + joined(target.parts))] if target.flexible else None


def _tag(number: int, value: bytes, size: int | None = None) -> bytes:
    return uvarint(number) + uvarint(len(value) if size is None else size) + value


def _known_tag(value: bytes, times: int = 1) -> Kind:
    """Return a kind of spoiled request, in which a known tagged field is wrong; only Fetch requests have such fields: the cluster id (0)
    and the replica state (1)."""

    def make(target: RequestToSpoil) -> list[bytes] | None:
        if target.key != api_keys.FETCH or not target.flexible or _told(target):
            return None
        section = uvarint(times) + _tag(0, value) * times
        return target.with_parts([*target.parts[:-1], EncodedPart("tag count", section, "tags")])

    return make


def _numbers(value: Callable[[int], bytes]) -> Kind:
    return lambda target: target.spoiled(NUMBERS, lambda part: value(len(part.data)))


def _client(client: bytes) -> Kind:
    return lambda target: [framed(target.head(client=client) + joined(target.parts))]


def _version(pick: Callable[[RequestToSpoil], int]) -> Kind:
    def make(target: RequestToSpoil) -> list[bytes] | None:
        if target.key == API_VERSIONS:
            return None  # Other kinds of spoiled requests cover the versions of ApiVersions.
        start = header(target.key, pick(target), CORRELATION) + (b"\0" if target.flexible else b"")
        return [framed(start + joined(target.parts))]

    return make


def _unknown_key(target: RequestToSpoil) -> list[bytes]:
    key = target.rng.choice((93, 200, 999, 32767, -1, -32768))
    return [framed(header(key, target.version, CORRELATION) + joined(target.parts))]


def _tagless_header(target: RequestToSpoil) -> list[bytes] | None:
    return [framed(header(target.key, target.version, CORRELATION) + joined(target.parts))] if target.flexible else None


def _tagged_header(target: RequestToSpoil) -> list[bytes] | None:
    return None if target.flexible else [framed(target.head() + b"\0" + joined(target.parts))]


def _length_only(length: int) -> Kind:
    return lambda target: [struct.pack(">i", length) + target.whole[4:]]


def _byte_by_byte(target: RequestToSpoil) -> list[bytes]:
    return [*(target.whole[at : at + 1] for at in range(min(40, len(target.whole)))), target.whole[40:]]


def _in_pieces(target: RequestToSpoil) -> list[bytes]:
    whole = target.whole
    cuts = sorted(target.rng.sample(range(1, len(whole)), min(4, len(whole) - 1)))
    return [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


def _several(target: RequestToSpoil) -> list[bytes]:
    return [good(1) + target.whole + good(2)]


def _bad_in_the_middle(target: RequestToSpoil) -> list[bytes]:
    return [good(1) + framed(header(999, 0, 3)) + good(2)]


def good(correlation: int) -> bytes:
    """Return a request without errors that every broker answers."""
    return framed(header(API_VERSIONS, 0, correlation))


def _api_versions(version: int, body: bytes, tags: bytes = b"\0") -> Kind:
    return lambda target: [framed(header(API_VERSIONS, version, CORRELATION) + tags + body)]


def _compact(text: bytes) -> bytes:
    return uvarint(len(text) + 1) + text


def _least(size: int) -> bytes:
    return b"\x80" + bytes(size - 1)


def _greatest(size: int) -> bytes:
    return b"\x7f" + b"\xff" * (size - 1)


KINDS: Final[dict[str, Kind]] = {
    "header cut": _cut_header,
    "body cut": _cut_body,
    "bytes behind the body": _trailing,
    "one bit of the body flipped": _flip_body,
    "several bits of the body flipped": _flip_several,
    "one bit of the header behind api key and version flipped": _flip_header,
    "a body of random bytes": _random_body,
    "string length null": _text_length(-1),
    "string length -2": lambda target: target.spoiled(("length16",), lambda part: struct.pack(">h", -2)),
    "string length 32767": _text_length(32767),
    "compact string length 2^31-1": lambda target: target.spoiled(("compact length",), lambda part: uvarint(INT_MAX)),
    "compact string of 32768 bytes, all there": _long_compact_text,
    "bytes length null": _bytes_length(-1),
    "bytes length -2": lambda target: target.spoiled(("length32",), lambda part: struct.pack(">i", -2)),
    "bytes length 2^31-1": _bytes_length(INT_MAX - 1),
    "array count null": _count(-1),
    "array count -2": lambda target: target.spoiled(("count32",), lambda part: struct.pack(">i", -2)),
    "array count -2^31": lambda target: target.spoiled(("count32",), lambda part: struct.pack(">i", -(2**31))),
    "array count 2^31-1": _count(INT_MAX - 1),
    "array count 1000": _count(1000),
    "array count 0": _count(0),
    "length or count one more": _off_by_one(1),
    "length or count one less": _off_by_one(-1),
    "varint overlong": _varint(lambda value: bytes([value | 0x80, 0])),
    "varint overlong, five bytes": _varint(lambda value: bytes([value | 0x80, 0x80, 0x80, 0x80, 0])),
    "varint of six bytes": _varint(lambda value: bytes([value | 0x80, 0x80, 0x80, 0x80, 0x80, 0])),
    "varint ff ff ff ff 0f": _varint(lambda value: b"\xff\xff\xff\xff\x0f"),
    "varint ff ff ff ff 7f": _varint(lambda value: b"\xff\xff\xff\xff\x7f"),
    "string that is not UTF-8": _not_text,
    "unknown tag": _tags(lambda rng: b"\1" + _tag(rng.choice((99, 127, 128, 20_000, INT_MAX)), rng.randbytes(3))),
    "unknown tag twice": _tags(lambda rng: b"\2" + _tag(99, b"a") + _tag(99, b"b")),
    "tags descending": _tags(lambda rng: b"\2" + _tag(99, b"a") + _tag(98, b"b")),
    "tag size beyond the frame": _tags(lambda rng: b"\1" + _tag(99, b"a", 30_000)),
    "tag size 2^31-1": _tags(lambda rng: b"\1" + _tag(99, b"a", INT_MAX)),
    "tag count one too many": _tags(lambda rng: b"\1"),
    "tag count 2^31-1": _tags(lambda rng: uvarint(INT_MAX)),
    "known tag of no bytes": _known_tag(b""),
    "known tag with bytes behind its value": _known_tag(_compact(b"id") + b"\7"),
    "known tag beyond its size": _known_tag(b"\x20id"),
    "known tag twice": _known_tag(_compact(b"id"), 2),
    "header: unknown tag": _header_tags(b"\1" + _tag(99, b"abc")),
    "header: unknown tag twice": _header_tags(b"\2" + _tag(99, b"a") + _tag(99, b"b")),
    "header: tag size beyond the frame": _header_tags(b"\1" + _tag(99, b"a", 30_000)),
    "header: tag count 2^31-1": _header_tags(uvarint(INT_MAX)),
    "header: tag count ff ff ff ff 0f": _header_tags(b"\xff\xff\xff\xff\x0f"),
    "header without its tag section": _tagless_header,
    "header with a tag section in a version that has none": _tagged_header,
    "bool byte 7": lambda target: target.spoiled(("bool",), lambda part: b"\7"),
    "nullable struct's marker 7": lambda target: target.spoiled(("marker",), lambda part: b"\7"),
    "nullable struct's marker -2": lambda target: target.spoiled(("marker",), lambda part: b"\xfe"),
    "least number": _numbers(_least),
    "greatest number": _numbers(_greatest),
    "number -1": _numbers(lambda size: b"\xff" * size),
    "client id null": _client(b"\xff\xff"),
    "client id length -2": _client(b"\xff\xfe"),
    "client id empty": _client(b"\0\0"),
    "client id not UTF-8": _client(b"\0\3\xff\xc3a"),
    "client id longer than the frame": _client(b"\x7f\xffraw"),
    "correlation id negative": lambda target: [framed(target.head(correlation=-2) + joined(target.parts))],
    "version above": _version(lambda target: APIS_ABOVE + target.rng.choice((0, 60))),
    "version below": _version(lambda target: target.rng.choice((-1, -32768))),
    "unknown api key": _unknown_key,
    "frame length -1": _length_only(-1),
    "frame length -2^31": _length_only(-(2**31)),
    "frame length above the limit": _length_only(FRAME_LIMIT + 1),
    "frame length 2^31-1": _length_only(INT_MAX),
    "frame of no bytes": lambda target: [framed(b"")],
    "frame one byte longer than announced": lambda target: [framed(target.head() + joined(target.parts)) + b"\0"],
    "HTTP": lambda target: [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
    "a TLS hello": lambda target: [bytes.fromhex("16030100c8010000c40303") + target.rng.randbytes(64)],
    "byte by byte": _byte_by_byte,
    "in pieces": _in_pieces,
    "three requests in one write": _several,
    "good, unknown key, good in one write": _bad_in_the_middle,
    "ApiVersions above": _api_versions(5, b""),
    "ApiVersions 32767 with a body of anything": _api_versions(32767, b"\xff\xff\xff"),
    "ApiVersions -1": _api_versions(-1, b"", b""),
    "ApiVersions above, header without tags": _api_versions(9, b"", b""),
    "ApiVersions 0 with a body": _api_versions(0, b"abc", b""),
    "ApiVersions 3 without a body": _api_versions(3, b""),
    "ApiVersions 3, software name empty": _api_versions(3, _compact(b"") + _compact(b"1") + b"\0"),
    "ApiVersions 3, software name `a b`": _api_versions(3, _compact(b"a b") + _compact(b"1") + b"\0"),
    "ApiVersions 3, software version `-x`": _api_versions(3, _compact(b"a") + _compact(b"-x") + b"\0"),
    "ApiVersions 3, software name null": _api_versions(3, b"\0" + _compact(b"1") + b"\0"),
}
APIS_ABOVE: Final = 33
"""A number above every version of every API."""


def served(release: str) -> list[tuple[int, int]]:
    """Return (key, version) of everything that groupmock advertises for that release."""
    return [(row.key, version) for row in advertised(load(f"kafka-{release}")) for version in range(row.lowest, row.highest + 1)]


def token_of(seed: int, stem: str = "") -> str:
    """Return the text that all names in that script contain. `stem` keeps the runs on one broker apart."""
    return f"{stem}{seed:x}z"


def make_case(seed: int, release: str, stem: str = "") -> Case:
    """Return one hostile input for a seed."""
    rng = random.Random(f"hostile {release} {seed}")
    name = rng.choice(list(KINDS))
    maker = RequestMaker(token_of(seed, stem), rng)
    for attempt in count(1):
        # After many attempts another kind is drawn, because no request of this release can be spoiled in this way.
        if attempt % TRIES == 0:
            name = rng.choice(list(KINDS))
        key, version = rng.choice(served(release))
        flexible = request_header_version(key, version) == 2
        target = RequestToSpoil(key, version, flexible, parts_of(maker.request(key, version), version, flexible), rng)
        writes = KINDS[name](target)
        if writes is not None:
            before = [good(1)] if rng.random() < 0.1 else []
            return Case(name, before + writes)
    raise AssertionError("count() never ends")


def generate(seed: int, release: str) -> Script:
    """Return the hostile input as a script of raw bytes with its last request, which bytes_run.py plays and judges."""
    steps = [raw("A", data, framed=False) for data in (*make_case(seed, release).writes, probe())]
    return Script("bytes", seed, release, "plain", [*steps], groups=0)
