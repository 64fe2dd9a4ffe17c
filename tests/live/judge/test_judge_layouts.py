"""The codec's message declarations equal Kafka's: versions, keys, flexible versions, and every layout of the releases."""

from __future__ import annotations

from typing import Any

from groupmock_codec import APIS
from groupmock_codec.declare import Field, Message, Versions, Wire, fields_of
from groupmock_codec.embedded.consumer import ASSIGNMENT, SUBSCRIPTION
from groupmock_codec.kafka_json import kafka_name

from . import names
from .oracle import RELEASES, ask, offered

NAMES = {"bool": "BOOLEAN", "bytes": "BYTES", "records": "RECORDS", "string": "STRING"}


def layout(message: type[Message], version: int, flexible: bool) -> list[dict[str, Any]]:
    """Return the codec's layout in the form of KafkaCodec.java: tagged fields last, in order of their tags."""
    present = [field for field in fields_of(message) if field.present(version)]
    tagged = [field for field in present if flexible and field.tagged(version)]
    plain = [field for field in present if field not in tagged]
    return [entry(field, version, flexible) for field in plain] + [
        entry(field, version, flexible) | {"tag": field.number} for field in sorted(tagged, key=lambda each: each.number)
    ]


def entry(field: Field, version: int, flexible: bool) -> dict[str, Any]:
    """Return the layout of one field."""
    wire, array = field.wire, field.wire.kind == "array"
    element = wire.element_wire if array else wire
    nullable = field.nullable(version)
    found: dict[str, Any] = {"name": kafka_name(field.name)}
    found["type"] = ("ARRAY of " if array else "") + type_name(element, flexible, nullable and not array)
    if nullable:
        found["nullable"] = True
    if element.kind == "struct":
        found["fields"] = layout(element.struct, version, flexible)
    return found


def type_name(wire: Wire, flexible: bool, nullable: bool) -> str:
    """Return the name of a type, for example COMPACT_NULLABLE_STRING."""
    name = NAMES.get(wire.kind, wire.kind.upper())
    if wire.kind not in ("string", "bytes", "records"):
        return name
    return ("COMPACT_" if flexible else "") + ("NULLABLE_" if nullable else "") + name


def without_later_tags(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop tagged fields that a later release added to an existing version."""
    known = {field["name"] for field in theirs}
    kept = [field for field in ours if field["name"] in known or "tag" not in field]
    inner: dict[str, list[dict[str, Any]]] = {field["name"]: field.get("fields", []) for field in theirs}
    below = [{"fields": without_later_tags(field["fields"], inner.get(field["name"], []))} if "fields" in field else {} for field in kept]
    return [field | more for field, more in zip(kept, below, strict=True)]


def comparable(release: str, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return layouts without the facts that older releases' schema classes omit: nullable structs, and nullable records of 2.8."""
    found = []
    for field in fields:
        field = field | {"type": field["type"].replace("NULLABLE_RECORDS", "RECORDS")}
        if field["type"] == "STRUCT" and release in ("2.8.2", "3.9.1"):
            field.pop("nullable", None)
        found.append(field | ({"fields": comparable(release, field["fields"])} if "fields" in field else {}))
    return found


def named_as(release: str, kind: str, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the codec's layout with the field names of a release."""
    return [
        field
        | {"name": next(iter(names.theirs(release, kind, {field["name"]: 0})))}
        | ({"fields": named_as(release, kind, field["fields"])} if "fields" in field else {})
        for field in fields
    ]


def test_layouts_are_kafkas(release: str) -> None:
    asked = [
        (kind, version, codec)
        for key in APIS
        for kind, codec in ((f"{APIS[key].name}Request", APIS[key].request), (f"{APIS[key].name}Response", APIS[key].response))
        if kind in offered(release)["types"]
        for version in range(offered(release)["types"][kind][0], offered(release)["types"][kind][1] + 1)
    ]
    answers = ask(release, [{"type": kind, "version": version, "schema": True} for kind, version, _ in asked])
    assert len(asked) > 300
    for (kind, version, codec), answer in zip(asked, answers, strict=True):
        ours = named_as(release, kind, layout(codec.message, version, codec.flexible(version)))
        assert without_later_tags(comparable(release, ours), answer["schema"]) == comparable(release, answer["schema"]), (kind, version)


def test_embedded_layouts_are_kafkas(release: str) -> None:
    for kind, codec in (("ConsumerProtocolSubscription", SUBSCRIPTION), ("ConsumerProtocolAssignment", ASSIGNMENT)):
        lowest, highest = offered(release)["types"][kind]
        answers = ask(release, [{"type": kind, "version": version, "schema": True} for version in range(lowest, highest + 1)])
        for version, answer in enumerate(answers, lowest):
            # The first field of the layout is left out, because it is the version itself.
            assert layout(codec.message, version, False)[1:] == answer["schema"], (kind, version)


def test_keys_and_flexible_versions_are_kafkas(release: str) -> None:
    found = offered(release)
    for key in APIS:
        api = APIS[key]
        if api.name in found["keys"]:
            assert (found["keys"][api.name], found["flexible"].get(api.name)) == (key, api.flexible_from), api


def test_versions_are_the_widest_of_the_releases() -> None:
    for key in APIS:
        for half in ("Request", "Response"):
            ranges = [found for release in RELEASES if (found := offered(release)["types"].get(APIS[key].name + half))]
            widest = Versions(min(low for low, _ in ranges), max(high for _, high in ranges))
            assert widest == APIS[key].versions, APIS[key]
