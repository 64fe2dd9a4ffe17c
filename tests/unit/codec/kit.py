"""Helpers for several codec tests: every (type, version) of the registry, recorded vectors, and a comparison of two decoders."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from properties.codec import Type, both, types

from groupmock_codec.declare import Message

__all__ = ["DATA", "Type", "both", "every_version", "types", "vectors", "walk"]

DATA: Final = Path(__file__).resolve().parents[2] / "data"


def every_version() -> list[tuple[str, int]]:
    return [(kind, version) for kind, found in types().items() for version in found.versions()]


@functools.lru_cache(maxsize=2)
def vectors(stem: str) -> list[dict[str, Any]]:
    """Return the recorded vectors of one API as dicts with type, version, release, hex and json."""
    text = gzip.decompress((DATA / "codec" / f"{stem}.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def walk(message: Message, path: str = "") -> Iterator[tuple[str, Message]]:
    """Yield the message and every struct inside with their paths, without array indexes."""
    yield path, message
    for name in message.__struct_fields__:
        value = getattr(message, name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Message):
                yield from walk(each, f"{path}.{name}" if path else name)
