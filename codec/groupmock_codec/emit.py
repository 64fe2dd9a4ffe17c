"""The base of the source emitters writes indented lines and makes new names.

Generated code needs objects as globals, and each of their names says what it stands for (`named`): so code that was compiled earlier finds
them again, without the source.
"""

from __future__ import annotations

import struct
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Final

from .declare import Field, Message

CODES: Final[Mapping[str, str]] = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}


PACK: Final = "pack_"
UNPACK: Final = "unpack_"
DEFAULT: Final = "default_"


BOOLEAN: Final = "t"
"""Stands for the code `?` in a name, where a question mark is not allowed; struct has no code of that letter."""


@cache
def layout(codes: str) -> struct.Struct:
    """Return the big-endian layout of the codes in a name. All codecs share it."""
    return struct.Struct(f">{codes.replace(BOOLEAN, '?')}")


def calling(prefix: str, codes: str) -> str:
    """Return the global name of the pack or unpack function of these codes."""
    return prefix + codes.replace("?", BOOLEAN)


def named(name: str, message: type[Message], classes: Mapping[str, type[Message]]) -> object:
    """Return the object that a global name of a message's generated code stands for: a pack or unpack function of a layout, a default, or
    a class of `classes` or of the message's module."""
    if name.startswith(PACK):
        return layout(name.removeprefix(PACK)).pack
    if name.startswith(UNPACK):
        return layout(name.removeprefix(UNPACK)).unpack_from
    wanted = name.removeprefix(DEFAULT)
    found: type[Message] = classes[wanted] if wanted in classes else getattr(sys.modules[message.__module__], wanted)
    return found() if wanted != name else found


class Source:
    """Builds source text and collects the message classes that the text needs as global names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.classes: dict[str, type[Message]] = {}
        self._depth = self._count = 0

    @property
    def text(self) -> str:
        """Return the source text as one string."""
        return "\n".join(self.lines) + "\n"

    def line(self, text: str) -> None:
        """Add a line of source at the current indentation."""
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str = "") -> Iterator[None]:
        """Indent the lines that are added inside this block, below the line `head` if it is given."""
        if head:
            self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    here = staticmethod(nullcontext)

    def fresh(self, prefix: str = "v") -> str:
        """Return a local name that the source has not used before."""
        self._count += 1
        return f"{prefix}{self._count}"

    def class_name(self, message: type[Message]) -> str:
        """Return the global name of a message class."""
        assert self.classes.setdefault(message.__name__, message) is message, f"two classes are called {message.__name__}"
        return message.__name__

    def default(self, field: Field) -> str:
        """Return an expression of the field's default: a new object if the default is mutable, and a shared object otherwise."""
        value = field.default
        if isinstance(value, list):
            return "[]"
        if isinstance(value, Message):
            shared = type(value).__struct_config__.frozen
            name = self.class_name(type(value))
            return f"{DEFAULT}{name}" if shared else f"{name}()"
        return repr(value)


class CodecSource(Source, ABC):
    """Builds the source text of a function that reads or writes a message."""

    @abstractmethod
    def function(self, message: type[Message]) -> None:
        """Write the source of the whole function."""
