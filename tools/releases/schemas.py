"""Read messages into one form, from Kafka's schema files (common/message/*.json in kafka-clients) or from our declarations.

Names are in snake case, as in our declarations and in Kafka's generated schemas.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from groupmock_codec import APIS
from groupmock_codec.declare import ANY_VERSION, ZERO_UUID, Field, Message, Versions, fields_of

FOLDER: Final = "common/message/"
EVERY: Final = Versions(0, ANY_VERSION)
ARRAY: Final = "[]"
EMPTY: Final[Mapping[str, Any]] = {"bool": False, "float64": 0.0, "string": "", "bytes": b"", "records": None, "uuid": ZERO_UUID}
"""The default of a type whose schema file names no default. Every other type that is no struct is a number."""
SIMPLE: Final = frozenset({*EMPTY, "int8", "int16", "uint16", "int32", "uint32", "int64"})
_COMMENT: Final = re.compile(r"^\s*//(.*)$", re.MULTILINE)
_VERSION: Final = re.compile(r"^\s*Versions? (\d+)\b", re.IGNORECASE)
_KIP: Final = re.compile(r"KIP-\d+|KAFKA-\d+")


class SchemaField(NamedTuple):
    """The schema of one field of a message or struct.

    `type` is Kafka's name of the element's type, `struct` if it has fields of its own; `array` says whether there are many of them. `own`
    is the name of that struct's class. `versions` are those in the file: a field of a struct is only where the struct is. A range is None
    if there are no such versions.
    """

    name: str
    type: str
    array: bool = False
    versions: Versions | None = EVERY
    nullable: Versions | None = None
    tagged: Versions | None = None
    tag: int | None = None
    ignorable: bool = False
    default: Any = None
    own: str = ""
    fields: tuple[SchemaField, ...] = ()


class Schema(NamedTuple):
    """The schema of a request or a response. `own` is the name of its class; `notes` are the KIPs and issues that Kafka's comments name,
    by version."""

    key: int
    own: str
    versions: Versions
    flexible_from: int | None
    fields: tuple[SchemaField, ...]
    listeners: frozenset[str] = frozenset()
    notes: Mapping[int, tuple[str, ...]] = {}

    @property
    def api(self) -> str:
        """The name of the API without Request or Response: `JoinGroup` for both."""
        return re.sub("(Request|Response)$", "", self.own)


def read_jar(jar: Path) -> dict[str, Schema]:
    """Read the requests and responses of a kafka-clients jar by name, without those that the release no longer reads."""
    with zipfile.ZipFile(jar) as held:
        texts = [held.read(name).decode() for name in sorted(held.namelist()) if name.startswith(FOLDER) and name.endswith(".json")]
    found = (read_schema(text) for text in texts)
    return {schema.own: schema for schema in found if schema is not None}


def clients_jar(classpath: str, version: str) -> Path:
    """Return the kafka-clients jar on the classpath `folder/*` of a release."""
    return Path(classpath).with_name(f"kafka-clients-{version}.jar")


def read_schema(text: str) -> Schema | None:
    """Read a request or response from a schema file. None: the file is no request and no response, or has no version any more."""
    shown, _ = json.JSONDecoder().raw_decode(_COMMENT.sub("", text).strip())  # A schema file of 2.8 has more text after its message.
    versions = span(str(shown["validVersions"]))
    if shown["type"] not in ("request", "response") or versions is None or "apiKey" not in shown:
        return None
    flexible = span(str(shown.get("flexibleVersions", "none")))
    structs = {each["name"]: each for each in shown.get("commonStructs", ())}
    fields = _fields(shown["fields"], structs)
    listeners = frozenset(shown.get("listeners", ()))
    return Schema(shown["apiKey"], shown["name"], versions, flexible.lowest if flexible else None, fields, listeners, _notes(text))


def span(text: str) -> Versions | None:
    """Parse a range of versions that Kafka writes as `0-5`, `3+`, `2` or `none`."""
    if text == "none":
        return None
    low, dash, high = text.partition("-")
    if low.endswith("+"):
        return Versions(int(low[:-1]), ANY_VERSION)
    return Versions(int(low), int(high) if dash else int(low))


def common(one: Versions | None, other: Versions | None) -> Versions | None:
    """Return the versions that are in both ranges, or None without any."""
    if one is None or other is None:
        return None
    both = Versions(max(one.lowest, other.lowest), min(one.highest, other.highest))
    return both if both.lowest <= both.highest else None


def snake(name: str) -> str:
    """Convert a name to snake case as Kafka does: ThrottleTimeMs -> throttle_time_ms. A row of capitals is one word."""
    return re.sub(r"(?<=[^A-Z_])(?=[A-Z])", "_", name).lower()


def _notes(text: str) -> dict[int, tuple[str, ...]]:
    """Return the KIPs and issues that the comments of a schema cite for each version. A comment goes on until another version is named."""
    found: dict[int, list[str]] = {}
    version: int | None = None
    for line in _COMMENT.findall(text):
        if begun := _VERSION.match(line):
            version = int(begun[1])
        if version is not None:
            found.setdefault(version, []).extend(_KIP.findall(line))
    return {version: tuple(dict.fromkeys(cited)) for version, cited in found.items() if cited}


def _fields(shown: list[dict[str, Any]], structs: Mapping[str, dict[str, Any]]) -> tuple[SchemaField, ...]:
    return tuple(_field(each, structs) for each in shown)


def _field(shown: dict[str, Any], structs: Mapping[str, dict[str, Any]]) -> SchemaField:
    kind: str = shown["type"].removeprefix(ARRAY)
    versions = span(str(shown.get("versions", "0+")))
    simple = kind in SIMPLE
    inner = shown.get("fields") or structs.get(kind, {}).get("fields", [])
    return SchemaField(
        name=snake(shown["name"]),
        type=kind if simple else "struct",
        array=shown["type"].startswith(ARRAY),
        versions=versions,
        nullable=common(span(str(shown.get("nullableVersions", "none"))), versions),
        tagged=common(span(str(shown.get("taggedVersions", "none"))), versions),
        tag=shown.get("tag"),
        ignorable=bool(shown.get("ignorable", False)),
        default=_default(kind, shown["type"].startswith(ARRAY), shown.get("default")),
        own="" if simple else kind,
        fields=() if simple else _fields(inner, structs),
    )


def _default(kind: str, array: bool, shown: Any) -> Any:
    """Return the default of a field in the form that our declarations have. That of a struct that is not null is the empty struct, `...`
    here."""
    if shown == "null":
        return None
    if array:
        return []
    if kind not in SIMPLE:
        return ...
    if shown in (None, ""):
        return EMPTY.get(kind, 0)
    if kind == "bool":
        return str(shown).lower() == "true"
    if kind in ("string", "bytes", "uuid"):
        return shown if kind == "string" else EMPTY[kind]
    return float(shown) if kind == "float64" else int(str(shown), 0)


# -- our declarations


def declared(keys: Iterable[int] | None = None) -> dict[str, Schema]:
    """Return the codec's requests and responses by the names that Kafka gives them."""
    return {schema.own: schema for schema in _declared(iter(APIS) if keys is None else keys)}


def _declared(keys: Iterable[int]) -> Iterator[Schema]:
    for key in keys:
        api = APIS[key]
        for half, message in (("Request", api.declaration.request), ("Response", api.declaration.response)):
            yield Schema(key, api.name + half, api.versions, api.flexible_from, declared_fields(message))


def declared_fields(message: type[Message]) -> tuple[SchemaField, ...]:
    """Return the fields of one of our message classes in the form of a schema file."""
    return tuple(_declared_field(field) for field in fields_of(message))


def _declared_field(field: Field) -> SchemaField:
    wire, array = field.wire, field.wire.kind == "array"
    element = wire.element_wire if array else wire
    versions = Versions(field.since, field.until)
    struct = element.struct if element.kind == "struct" else None
    return SchemaField(
        name=field.name,
        type=element.kind,
        array=array,
        versions=versions,
        nullable=None if field.nullable_since is None else common(Versions(field.nullable_since, ANY_VERSION), versions),
        tagged=None if field.tag is None else common(Versions(field.tag.since, ANY_VERSION), versions),
        tag=None if field.tag is None else field.number,
        ignorable=field.ignorable,
        default=... if isinstance(field.default, Message) else field.default,
        own="" if struct is None else struct.__name__,
        fields=() if struct is None else declared_fields(struct),
    )
