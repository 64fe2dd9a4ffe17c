"""What several codec tests need: every (type, version) of the registry, recorded vectors, and how two decoders answered."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from groupmock_codec import APIS, Codec, DecodeError, reference
from groupmock_codec.declare import Message

DATA: Final = Path(__file__).resolve().parents[2] / "data"


class Type(NamedTuple):
    """One half of one API."""

    kind: str
    codec: Codec[Message]

    def versions(self) -> range:
        """Every version the codec knows."""
        return range(self.codec.versions.lowest, self.codec.versions.highest + 1)


@functools.cache
def types() -> dict[str, Type]:
    """By Kafka's name: JoinGroupRequest, JoinGroupResponse, ..."""
    halves = ((f"{APIS[key].name}{half}", getattr(APIS[key], half.lower())) for key in APIS for half in ("Request", "Response"))
    return {kind: Type(kind, codec) for kind, codec in halves}


def every_version() -> list[tuple[str, int]]:
    """All (type, version) pairs."""
    return [(kind, version) for kind, found in types().items() for version in found.versions()]


@functools.lru_cache(maxsize=2)
def vectors(stem: str) -> list[dict[str, Any]]:
    """The recorded vectors of one API: dicts with type, version, release, hex, json."""
    text = gzip.decompress((DATA / "codec" / f"{stem}.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def both(codec: Codec[Message], version: int, data: bytes) -> tuple[object, object]:
    """What the compiled form and the judge make of these bytes: (message, end), or the string `refused`."""
    flexible = codec.flexible(version)

    def fast() -> object:
        return codec.decoder(version)(data, 0)

    def slow() -> object:
        return reference.decode(codec.message, version, flexible, data)

    answers = []
    for read in (fast, slow):
        try:
            answers.append(read())
        except DecodeError:
            answers.append("refused")
    return answers[0], answers[1]


def walk(message: Message, path: str = "") -> Iterator[tuple[str, Message]]:
    """The message and every struct inside it, with their paths (array indices left out)."""
    yield path, message
    for name in message.__struct_fields__:
        value = getattr(message, name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Message):
                yield from walk(each, f"{path}.{name}" if path else name)
