"""The compiled codec generates flat Python from a declaration, for each message class and version at first use.

`decoder(cls, version, flexible)` and `encoder(...)` generate, execute and cache functions; `kept_code` keeps their code for later
processes. The functions check every length. When they refuse a message, the slow codec in `reference.py` explains field path and offset,
but only if somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import CodeType, FunctionType
from typing import Final, TypeVar, cast

from . import runtime
from .declare import Message
from .emit import DEFAULT, PACK, UNPACK, CodecSource, named
from .emit_decode import READERS, DecodeSource
from .emit_encode import WRITERS, EncodeSource
from .errors import DecodeError, EncodeError, Place, TooManyElements
from .kept_code import Generated, kept_code

M = TypeVar("M", bound=Message)
EXPLAINED_BYTES: Final = 4096
"""The largest number of bytes for which a decoding error is explained. The reference codec takes 6 us per byte of small fields, and a
server must not stall for a hostile frame."""
Decoder = Callable[[bytes, int], tuple[M, int]]
Encoder = Callable[[M], bytes]


def decoder_title(message: type[Message], version: int, max_elements: int | None) -> str:
    return f"{message.__name__} v{version} decode" + ("" if max_elements is None else f" {max_elements}")


def encoder_title(message: type[Message], version: int) -> str:
    return f"{message.__name__} v{version} encode"


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
    title = decoder_title(message, version, max_elements)
    names = {**READERS, "explain": explain, "too_many": too_many, "unfit": unfit}
    defaults = () if max_elements is None else (max_elements,)
    made = _made(message, title, partial(DecodeSource, version, flexible, max_elements), names, defaults)
    return cast("Decoder[M]", made)


@cache
def encoder(message: type[M], version: int, flexible: bool) -> Encoder[M]:
    """Return a function `message -> bytes` that encodes the message and raises EncodeError."""

    def explain(value: M) -> EncodeError:
        def place() -> Place:
            from .reference import why_not_encoded

            return why_not_encoded(message, version, flexible, value)

        return EncodeError(f"{message.__name__} v{version} cannot be written", place)

    title = encoder_title(message, version)
    return cast("Encoder[M]", _made(message, title, partial(EncodeSource, version, flexible), {**WRITERS, "explain": explain}))


def _made(
    message: type[Message], title: str, emitter: Callable[[], CodecSource], names: Mapping[str, object], defaults: tuple[int, ...] = ()
) -> FunctionType:
    """Return the generated function of this title. Its code is generated from the declaration unless it was kept."""

    def source() -> CodecSource:
        emitted = emitter()
        emitted.function(message)
        return emitted

    kept = kept_code(message.__module__)
    generated = kept.find(title)
    classes: Mapping[str, type[Message]] = {}
    if generated is None:
        emitted = source()
        classes = emitted.classes
        whole = compile(emitted.text, f"{message.__module__} {title}", "exec")
        code = next(constant for constant in whole.co_consts if isinstance(constant, CodeType))
        generated = Generated(code, tuple(classes))
        kept.add(title, generated)
    bound = [name for name in generated.code.co_names if name.startswith((PACK, UNPACK, DEFAULT)) and name not in names]
    objects = {name: named(name, message, classes) for name in (*generated.classes, *bound)}
    # Tracebacks and profilers ask the loader for the lines of the function, which are written again for them.
    lines = {"__name__": title, "__loader__": _Lines(source)}
    return FunctionType(generated.code, {**names, **objects, **lines}, None, defaults)


class _Lines:
    """A loader that writes the source text of a generated function when it is asked for (PEP 302, `linecache.lazycache`)."""

    def __init__(self, source: Callable[[], CodecSource]) -> None:
        self._source = source

    def get_source(self, _name: str) -> str:
        return self._source().text
