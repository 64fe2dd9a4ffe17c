"""Builds sample messages from declarations, for tests, fuzzers and probes: named edge cases, and random messages."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from .declare import Field, Message, Wire, fields_of
from .emit import CODES

M = TypeVar("M", bound=Message)
LETTERS: Final = "abcXYZ019-_./ éß消🦀"
SIZES: Final = (0, 0, 1, 2, 3, 12, 40, 126, 127, 128, 300)
ODD_TAGS: Final = (9, 100, 127, 128, 20_000, 2**31 - 2)  # Kafka itself cannot encode the tag 2^31-1.


def sample(message: type[M], version: int, flexible: bool, dice: random.Random, unknown_tags: bool = True) -> M:
    """Return a random message that can be encoded in this version, with nulls, empty values, defaults, limits, long strings and unknown
    tags."""
    return _Sampler(version, flexible, dice, unknown_tags).message(message, 0)


def edge_cases(message: type[M], version: int, flexible: bool, dice: random.Random) -> Iterator[tuple[str, M]]:
    """Yield named messages that together have every field null, empty, at its default, at its limits, tagged and not tagged."""
    for name, choose in _CASES:
        yield name, _Chosen(version, flexible, dice, choose).message(message, 0)


def limits(kind: str) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer wire type."""
    bits = 8 * struct.calcsize(">" + CODES[kind])
    return (0, 2**bits - 1) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class _Sampler:
    def __init__(self, version: int, flexible: bool, dice: random.Random, unknown_tags: bool = False) -> None:
        self.version, self.flexible, self.dice, self.unknown_tags = version, flexible, dice, unknown_tags

    def message(self, message: type[M], depth: int) -> M:
        """Return one random message of the class. Fields that the version lacks keep their defaults."""
        values = {field.name: self.field(field, depth) for field in fields_of(message) if field.present(self.version)}
        if self.unknown_tags and self.flexible and self.dice.random() < 0.15:
            tags = self.dice.sample(ODD_TAGS, self.dice.randint(1, 3))
            values["unknown_tags"] = {tag: self.dice.randbytes(self.dice.choice(SIZES)) for tag in tags}
        return message(**values)

    def field(self, field: Field, depth: int) -> Any:
        if self.dice.random() < 0.15:
            return self.default(field)
        if field.nullable(self.version) and self.dice.random() < 0.2:
            return None
        return self.value(field.wire, depth)

    def default(self, field: Field) -> Any:
        """Return the field's default, or an empty value if null may not be written in this version. A default that can be changed is a new
        object, because tests change samples."""
        default = field.default
        if default is None and not field.nullable(self.version):
            return self.empty(field.wire)
        return type(default)() if isinstance(default, list | Message) else default

    def empty(self, wire: Wire) -> Any:
        """Return an empty value of the wire type that is not null."""
        return {"string": "", "bytes": b"", "records": b"", "array": []}.get(wire.kind) if wire.kind != "struct" else wire.struct()

    def value(self, wire: Wire, depth: int) -> Any:
        dice = self.dice
        if wire.kind == "array":
            return [self.value(wire.element_wire, depth + 1) for _ in range(dice.randrange(4 if depth < 3 else 2))]
        if wire.kind == "struct":
            return self.message(wire.struct, depth + 1)
        return scalar(wire, dice)


def scalar(wire: Wire, dice: random.Random) -> Any:
    """Return a random number, string, uuid or bytes."""
    if wire.kind == "string":
        return "".join(dice.choice(LETTERS) for _ in range(dice.choice(SIZES)))
    if wire.kind in ("bytes", "records"):
        return dice.randbytes(dice.choice(SIZES))
    if wire.kind == "uuid":
        return dice.randbytes(16)
    if wire.kind == "bool":
        return dice.random() < 0.5
    if wire.kind == "float64":
        return dice.gauss(0, 1e6)
    low, high = limits(wire.kind)
    return dice.choice((low, high, -1 if low < 0 else 0, 0, 1, dice.randint(low, high), dice.randint(0, 127)))


class _Chosen(_Sampler):
    """A sampler that chooses every field of a message in the same way, with two elements in every array unless arrays are to be empty."""

    def __init__(self, version: int, flexible: bool, dice: random.Random, choose: Callable[[_Chosen, Field, int], Any]) -> None:
        super().__init__(version, flexible, dice)
        self.choose = choose

    def field(self, field: Field, depth: int) -> Any:
        return self.choose(self, field, depth)

    def full(self, field: Field, depth: int) -> Any:
        """Return a value that is not null, not empty, and if possible not the field's default."""
        value = self.filled(field.wire, depth)
        for _ in range(20):
            if value not in (field.default, "", b""):
                break
            value = self.filled(field.wire, depth)
        return value

    def filled(self, wire: Wire, depth: int) -> Any:
        if wire.kind == "array":
            return [self.filled(wire.element_wire, depth + 1) for _ in range(2)]
        if wire.kind == "struct":
            return self.message(wire.struct, depth + 1)
        return scalar(wire, self.dice)

    def branches(self, field: Field) -> bool:
        """True if the field contains structs, which must be present so that their fields are covered."""
        return field.wire.kind == "struct" or (field.wire.kind == "array" and field.wire.element_wire.kind == "struct")

    def bare(self, field: Field, depth: int) -> Any:
        """Return the field's default, or elements if the field contains structs."""
        return self.full(field, depth) if self.branches(field) else self.default(field)

    def null(self, field: Field, depth: int) -> Any:
        """Return null if the field may be null and contains no structs, else a full value."""
        return None if field.nullable(self.version) and not self.branches(field) else self.full(field, depth)

    def null_structs(self, field: Field, depth: int) -> Any:
        """Return null if the field may be null, even if it contains structs, else a full value."""
        return None if field.nullable(self.version) else self.full(field, depth)

    def emptied(self, field: Field, depth: int) -> Any:
        """Return an empty value for strings, bytes and arrays without structs, else a full value."""
        plain = field.wire.kind in ("string", "bytes", "records") or (field.wire.kind == "array" and not self.branches(field))
        return self.empty(field.wire) if plain else self.full(field, depth)

    def hollow(self, field: Field, depth: int) -> Any:
        """Return empty arrays below the top level: arrays of structs are filled at the top level, so that the arrays in them can be
        empty."""
        if field.wire.kind == "array" and (depth > 0 or not self.branches(field)):
            return []
        return self.full(field, depth)

    def untagged(self, field: Field, depth: int) -> Any:
        """Return the default for tagged fields, so that they are not encoded, else a full value."""
        return self.default(field) if field.tagged(self.version) else self.full(field, depth)

    def extreme(self, field: Field, depth: int) -> Any:
        """Return the smallest or largest value for integer fields, else a full value."""
        if field.wire.kind in CODES and field.wire.kind not in ("bool", "uuid", "float64"):
            return self.dice.choice(limits(field.wire.kind))
        return self.full(field, depth)


_CASES: Final[tuple[tuple[str, Callable[[_Chosen, Field, int], Any]], ...]] = (
    ("as made", lambda self, field, depth: self.default(field)),
    ("defaults in every struct", _Chosen.bare),
    ("full", _Chosen.full),
    ("null values", _Chosen.null),
    ("null structs and arrays", _Chosen.null_structs),
    ("empty values", _Chosen.emptied),
    ("empty arrays", lambda self, field, depth: self.empty(field.wire) if field.wire.kind == "array" else self.full(field, depth)),
    ("empty arrays below the top", _Chosen.hollow),
    ("nothing tagged", _Chosen.untagged),
    ("limits", _Chosen.extreme),
)
