"""A message's fields are declared by wire type, versions, nullability and tag.

A message is a `msgspec.Struct` whose annotations are the whole declaration (docs/reference/architecture.md#rule-5)::

    class Protocol(Message):
        name: Annotated[str, STRING] = ""
        metadata: Annotated[bytes, BYTES] = b""

    class Request(Message):
        group_id: Annotated[str, STRING] = ""
        rebalance_timeout_ms: Annotated[int, INT32, since(1)] = -1
        group_instance_id: Annotated[str | None, STRING, nullable(5), since(5)] = None
        protocols: Annotated[list[Protocol], array(Protocol)] = []

For each version `reference.py` makes a construct object of it (slow), `compiled.py` flat Python (fast). The markers
here are plain data and import nothing heavy, so that a server can listen before construct is imported.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn, get_type_hints

import msgspec

ANY_VERSION: Final = 32767
ZERO_UUID: Final = bytes(16)


class NoTags(dict[int, bytes]):
    """The read-only `unknown_tags` of messages without unknown tags, shared to save a dict for each struct."""

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("NO_TAGS is shared by all messages: assign a dict of your own to unknown_tags")

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = setdefault = pop = popitem = clear = _refuse


NO_TAGS: Final = NoTags()
TAGS: Final = "unknown_tags"


class Message(msgspec.Struct, gc=False, kw_only=True):
    """The base class of all messages and of all structs in messages. `unknown_tags` has the raw bytes of each tag number, as received."""

    unknown_tags: dict[int, bytes] = NO_TAGS


class FrozenMessage(Message, frozen=True):  # type: ignore[misc]  # msgspec allows what dataclasses do not
    """The base class of structs that are the default of a tagged field. It is immutable, so that all messages without the field share
    one."""


class Wire(msgspec.Struct, frozen=True):
    """The wire type of a field in a message. `kind` is Kafka's name of the type; `element` is the type inside an array or a struct."""

    kind: str
    element: Wire | type[Message] | None = None

    @property
    def struct(self) -> type[Message]:
        """Return the message class of a struct type."""
        assert isinstance(self.element, type)
        return self.element

    @property
    def element_wire(self) -> Wire:
        """Return the wire type of an array's elements."""
        assert self.element is not None
        return self.element if isinstance(self.element, Wire) else Wire("struct", self.element)


BOOLEAN: Final = Wire("bool")
INT8: Final = Wire("int8")
INT16: Final = Wire("int16")
UINT16: Final = Wire("uint16")
INT32: Final = Wire("int32")
UINT32: Final = Wire("uint32")
INT64: Final = Wire("int64")
FLOAT64: Final = Wire("float64")
UUID: Final = Wire("uuid")  # In Python a UUID is 16 raw bytes, as on the wire.
STRING: Final = Wire("string")
BYTES: Final = Wire("bytes")
RECORDS: Final = Wire("records")  # Records are encoded like bytes, but Kafka's schemas have a type of their own for them.


def array(element: Wire | type[Message]) -> Wire:
    """Return the wire type of an array of a wire type or of a message class."""
    return Wire("array", element)


def struct(element: type[Message]) -> Wire:
    """Return the wire type of an embedded struct. A nullable one has an int8 marker (docs/kafka/apis.md#wire-conventions)."""
    return Wire("struct", element)


class Since(msgspec.Struct, frozen=True):
    """Declares the first version that has the field."""

    version: int


class Until(msgspec.Struct, frozen=True):
    """Declares the last version that has the field."""

    version: int


class Nullable(msgspec.Struct, frozen=True):
    """Declares the first version in which the field may be null."""

    since: int


class Tag(msgspec.Struct, frozen=True):
    """Declares the field's number in the tagged section, and the first version that has the field there."""

    number: int
    since: int


class Ignorable(msgspec.Struct, frozen=True):
    """Declares that versions without the field drop its value silently. For other fields the encoder refuses a value that is not the
    default (docs/kafka/apis.md#wire-conventions)."""


def since(version: int) -> Since:
    """Declare the first version that has the field."""
    return Since(version)


def until(version: int) -> Until:
    """Declare the last version that has the field."""
    return Until(version)


def nullable(version: int = 0) -> Nullable:
    """Declare the first version in which the field may be null."""
    return Nullable(version)


def tag(number: int, version: int = 0) -> Tag:
    """Declare that the field is in the tagged section since `version`. It is written only if it differs from its default."""
    return Tag(number, version)


IGNORABLE: Final = Ignorable()


class Versions(msgspec.Struct, frozen=True):
    """An inclusive range of versions, which prints as in Kafka: `str(Versions(0, 9)) == "0-9"`. The object itself cannot be iterated,
    because both its two ends and `every` version could be meant."""

    lowest: int
    highest: int

    @property
    def every(self) -> range:
        """Return all versions in order."""
        return range(self.lowest, self.highest + 1)

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __str__(self) -> str:
        return f"{self.lowest}-{self.highest}" if self.lowest != self.highest else str(self.lowest)


class Field(msgspec.Struct, frozen=True):
    """One field of a message class, as its annotation declares it."""

    name: str
    wire: Wire
    since: int
    until: int
    nullable_since: int | None
    tag: Tag | None
    ignorable: bool
    default: Any

    @property
    def number(self) -> int:
        """Return the tag number of a tagged field."""
        assert self.tag is not None
        return self.tag.number

    def present(self, version: int) -> bool:
        """True if this version has the field."""
        return self.since <= version <= self.until

    def nullable(self, version: int) -> bool:
        """True if the field may be null in this version."""
        return self.nullable_since is not None and version >= self.nullable_since

    def tagged(self, version: int) -> bool:
        """True if this version has the field in its tagged section."""
        return self.tag is not None and version >= self.tag.since


class ApiDeclaration(msgspec.Struct, frozen=True):
    """The declaration of an API: its key, name and versions, and the first flexible version (None if there is none)."""

    key: int
    name: str
    versions: Versions
    flexible_from: int | None
    request: type[Message]
    response: type[Message]


_FIELDS: dict[type[Message], tuple[Field, ...]] = {}


def fields_of(message: type[Message]) -> tuple[Field, ...]:
    """Return the declared fields of a message class in wire order, without `unknown_tags`. They are resolved once for each class."""
    if message not in _FIELDS:
        hints = get_type_hints(message, include_extras=True)
        _FIELDS[message] = tuple(
            _field(info.name, hints[info.name].__metadata__, _default(info))
            for info in msgspec.structs.fields(message)
            if info.name != TAGS
        )
    return _FIELDS[message]


def misplaced_tags(message: type[Message], version: int) -> frozenset[int]:
    """Return the tags that the message declares for other versions, but not for this one. Kafka's readers refuse them: "Tag 1 is not
    valid for version 12"."""
    fields = [field for field in fields_of(message) if field.tag is not None]
    here = {field.number for field in fields if field.present(version) and field.tagged(version)}
    return frozenset(field.number for field in fields) - here


def _default(info: msgspec.structs.FieldInfo) -> Any:
    return info.default if info.default_factory is msgspec.NODEFAULT else info.default_factory()


def _field(name: str, marks: tuple[object, ...], default: Any) -> Field:
    by_type = {type(mark): mark for mark in marks}
    first, last, null, tagged = by_type.get(Since), by_type.get(Until), by_type.get(Nullable), by_type.get(Tag)
    wire = by_type[Wire]
    assert isinstance(wire, Wire)
    return Field(
        name=name,
        wire=wire,
        since=first.version if isinstance(first, Since) else 0,
        until=last.version if isinstance(last, Until) else ANY_VERSION,
        nullable_since=null.since if isinstance(null, Nullable) else None,
        tag=tagged if isinstance(tagged, Tag) else None,
        ignorable=Ignorable in by_type,
        default=default,
    )
