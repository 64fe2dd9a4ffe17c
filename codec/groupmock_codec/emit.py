"""The base of the source emitters writes indented lines, makes new names, and binds objects to global names of the generated module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
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


class Source:
    """Builds source text and collects the objects that the text needs as global names."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self.lines: list[str] = []
        self.names: dict[str, object] = dict(names)
        self._bound: dict[object, str] = {}
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

    def bind(self, prefix: str, value: object, key: object) -> str:
        """Return a global name for `value`, which is the same for the same `key`."""
        if key not in self._bound:
            self._bound[key] = f"{prefix}_{len(self._bound)}"
            self.names[self._bound[key]] = value
        return self._bound[key]

    def default(self, field: Field) -> str:
        """Return an expression of the field's default: a new object if the default is mutable, and a shared object otherwise."""
        value = field.default
        if isinstance(value, list):
            return "[]"
        if isinstance(value, Message):
            shared = type(value).__struct_config__.frozen
            return self.bind("default", value, ("default", type(value))) if shared else f"{self.bind('make', type(value), type(value))}()"
        return repr(value)
