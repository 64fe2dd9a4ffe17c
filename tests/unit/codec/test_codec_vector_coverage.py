"""The recorded vectors show every field of every version as null, not null, default, empty, filled, tagged and untagged."""

from __future__ import annotations

from collections.abc import Iterator

from cases import for_each

from groupmock_codec import APIS
from groupmock_codec.declare import Field, Message, fields_of

from .kit import Type, types, vectors, walk

Sight = tuple[str, str]  # A pair of a field's path and the kind of value that was seen.
SIZED = ("string", "bytes", "records", "array")


def due(message: type[Message], version: int, flexible: bool, path: str = "") -> Iterator[Sight]:
    """Yield the kinds of values that a version's vectors must show."""
    for field in fields_of(message):
        if not field.present(version):
            continue
        here = f"{path}.{field.name}" if path else field.name
        yield from ((here, case) for case in cases(field, version, flexible))
        element = field.wire.element_wire if field.wire.kind == "array" else field.wire
        if element.kind == "struct":
            yield from due(element.struct, version, flexible, here)


def cases(field: Field, version: int, flexible: bool) -> Iterator[str]:
    """Yield the kinds of values of one field."""
    if field.nullable(version):
        yield from ("null", "not null")
    if field.wire.kind in SIZED:
        yield from ("empty", "filled")
    if field.default is not None or field.nullable(version):
        yield "default"
    if flexible and field.tagged(version):
        yield from ("tagged", "not tagged")


def seen(message: Message, version: int, flexible: bool) -> Iterator[Sight]:
    """Yield the kinds of values that one message shows."""
    for path, struct in walk(message):
        for field in fields_of(type(struct)):
            if not field.present(version):
                continue
            value = getattr(struct, field.name)
            here = f"{path}.{field.name}" if path else field.name
            yield here, "null" if value is None else "not null"
            if field.wire.kind in SIZED and value is not None:
                yield here, "filled" if value else "empty"
            if value == field.default:
                yield here, "default"
            if flexible and field.tagged(version):
                yield here, "not tagged" if value == field.default else "tagged"


def missing(found: Type, stem: str, version: int) -> set[Sight]:
    """Return the kinds of values that no vector of that version shows."""
    flexible = found.codec.flexible(version)
    of_version = [vector for vector in vectors(stem) if vector["type"] == found.kind and vector["version"] == version]
    shown = {sight for vector in of_version for sight in seen(found.codec.decode(version, bytes.fromhex(vector["hex"])), version, flexible)}
    return set(due(found.codec.message, version, flexible)) - shown


@for_each("stem", [APIS[key].stem for key in APIS])
def test_vectors_show_every_case_of_every_field(stem: str) -> None:
    name = next(api.name for api in APIS.values() if api.stem == stem)
    halves = [types()[f"{name}Request"], types()[f"{name}Response"]]
    assert {
        (found.kind, version): gaps for found in halves for version in found.versions() if (gaps := missing(found, stem, version))
    } == {}
