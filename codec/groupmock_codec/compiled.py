"""The compiled codec generates flat Python from a declaration, for each message class and version at first use.

`decoder(cls, version, flexible)` and `encoder(...)` generate, execute and cache functions. These check every length. When they refuse a
message, the slow codec in `reference.py` explains field path and offset, but only if somebody asks.
"""

from __future__ import annotations

import linecache
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, cast

from . import runtime
from .declare import Message
from .emit import Source
from .emit_decode import DecodeSource
from .emit_encode import EncodeSource
from .errors import DecodeError, EncodeError, Place, TooManyElements

M = TypeVar("M", bound=Message)
EXPLAINED_BYTES: Final = 4096
"""The largest number of bytes for which a decoding error is explained. The reference codec takes 6 us per byte of small fields, and a
server must not stall for a hostile frame."""
Decoder = Callable[[bytes, int], tuple[M, int]]
Encoder = Callable[[M], bytes]


@cache
def decoder(message: type[M], version: int, flexible: bool, max_elements: int | None = None) -> Decoder[M]:
    """Return a function `(data, offset) -> (message, end)` that decodes the message and raises DecodeError. The caller handles bytes after
    `end`.

    `max_elements` limits the array elements and tagged fields of the whole message; more raise TooManyElements."""

    def explain(data: bytes, start: int) -> DecodeError:
        def place() -> Place:
            if len(data) - start > EXPLAINED_BYTES:
                return Place(f"malformed (where is not looked for in more than {EXPLAINED_BYTES} bytes)")
            from .reference import why_not_decoded

            return why_not_decoded(message, version, flexible, data[start:])

        return DecodeError(what, place)

    def too_many(path: str, count: int, left: int, offset: int) -> TooManyElements:
        return TooManyElements(what, Place(runtime.too_many(count, left, max_elements or 0), path, offset))

    def unfit(path: str, count: int, left: int, offset: int, room: int) -> Exception:
        return too_many(path, count, left, offset) if 0 <= count <= room else runtime.Refused()

    what = f"{message.__name__} v{version} cannot be read"
    source = DecodeSource(version, flexible, max_elements)
    source.function(message)
    return cast("Decoder[M]", _executed(source, "decode", message, version, explain=explain, too_many=too_many, unfit=unfit))


@cache
def encoder(message: type[M], version: int, flexible: bool) -> Encoder[M]:
    """Return a function `message -> bytes` that encodes the message and raises EncodeError."""

    def explain(value: M) -> EncodeError:
        def place() -> Place:
            from .reference import why_not_encoded

            return why_not_encoded(message, version, flexible, value)

        return EncodeError(f"{message.__name__} v{version} cannot be written", place)

    source = EncodeSource(version, flexible)
    source.function(message)
    return cast("Encoder[M]", _executed(source, "encode", message, version, explain=explain))


def _executed(source: Source, name: str, message: type[Message], version: int, **raised: Callable[..., Exception]) -> Any:
    """Execute the generated source in such a way that tracebacks and profilers show its lines."""
    filename = f"<{name} {message.__module__}.{message.__name__} v{version}>"
    names = source.names | raised | {"StructError": struct.error}
    # `exec` is safe here, because the source is made only of this package's declarations.
    exec(compile(source.text, filename, "exec"), names)
    linecache.cache[filename] = (len(source.text), None, source.text.splitlines(keepends=True), filename)
    return names[name]
