"""The base of both emitters: indented lines, fresh names, and objects bound to global names of the generated module."""

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
    """Source text under construction, with the names that it needs when executed."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self.lines: list[str] = []
        self.names: dict[str, object] = dict(names)
        self._bound: dict[object, str] = {}
        self._depth = self._count = 0

    @property
    def text(self) -> str:
        """The source as one string."""
        return "\n".join(self.lines) + "\n"

    def line(self, text: str) -> None:
        """Add a line at the current depth."""
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str = "") -> Iterator[None]:
        """Indent the lines inside by one level, below `head` if given."""
        if head:
            self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    here = staticmethod(nullcontext)

    def fresh(self, prefix: str = "v") -> str:
        """Return a local name that was not used before."""
        self._count += 1
        return f"{prefix}{self._count}"

    def bind(self, prefix: str, value: object, key: object) -> str:
        """Return the global name of `value`, the same for the same `key`."""
        if key not in self._bound:
            self._bound[key] = f"{prefix}_{len(self._bound)}"
            self.names[self._bound[key]] = value
        return self._bound[key]

    def default(self, field: Field) -> str:
        """Return an expression of the field's default: a fresh object if it can be changed, a shared one otherwise."""
        value = field.default
        if isinstance(value, list):
            return "[]"
        if isinstance(value, Message):
            shared = type(value).__struct_config__.frozen
            return self.bind("default", value, ("default", type(value))) if shared else f"{self.bind('make', type(value), type(value))}()"
        return repr(value)
