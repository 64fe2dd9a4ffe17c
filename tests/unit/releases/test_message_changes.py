"""tools/releases compares schema files of a release with the codec's declarations, and writes declarations that say the same."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import pytest

from groupmock_codec.api_keys import DELETE_GROUPS
from tools.releases.message_changes import CHANGED, GONE, NEW, RENAMED, change
from tools.releases.message_source import ByHand, changed_file, new_file
from tools.releases.schemas import Schema, declared, declared_fields, read_schema


def schema(name: str, fields: list[dict[str, Any]], versions: str = "0-3", note: str = "", **more: Any) -> Schema:
    """Return the schema of a message of DeleteGroups, read from a text like those in Kafka's jar."""
    half = "request" if name.endswith("Request") else "response"
    head = {
        "apiKey": DELETE_GROUPS,
        "type": half,
        "listeners": ["broker"],
        "name": name,
        "validVersions": versions,
        "flexibleVersions": "2+",
    }
    found = read_schema(f"// A licence.\n{note}\n{json.dumps({**head, 'fields': fields, **more})}")
    assert found is not None
    return found


def field(name: str, kind: str, versions: str = "0+", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "versions": versions, **more}


REQUEST = schema("DeleteGroupsRequest", [field("GroupsNames", "[]string")])
ERROR_MESSAGE = field("ErrorMessage", "string", "3+", nullableVersions="3+", default="null", ignorable=True)
RESULT = [field("GroupId", "string"), field("ErrorCode", "int16")]


def response(result: list[dict[str, Any]], *more: dict[str, Any], **options: Any) -> Schema:
    """Return the schema of a DeleteGroupsResponse whose rows have these fields."""
    times = field("ThrottleTimeMs", "int32", ignorable=options.pop("ignorable", False))
    return schema("DeleteGroupsResponse", [times, field("Results", "[]DeletableGroupResult", fields=result), *more], **options)


def module(monkeypatch: pytest.MonkeyPatch, text: str) -> Any:
    """Import the text as if it were a message file."""
    found = ModuleType("groupmock_codec.messages.k42_proposed")
    monkeypatch.setitem(sys.modules, found.__name__, found)
    found.__package__ = "groupmock_codec.messages"
    exec(compile(text, "proposed", "exec"), found.__dict__)
    return found


def told(before: Schema, after: Schema) -> list[tuple[str, str]]:
    found = change(before, after)
    return [] if found is None else [(".".join(each.path), each.what) for each in found.fields]


def test_schema_of_the_codecs_own_versions_shows_no_difference() -> None:
    ours = declared([DELETE_GROUPS])
    assert change(ours["DeleteGroupsRequest"], schema("DeleteGroupsRequest", [field("GroupsNames", "[]string")], "0-2")) is None
    assert change(ours["DeleteGroupsResponse"], response(RESULT, versions="1-2")) is None


def test_schema_with_a_new_field_shows_its_version_and_what_kafka_cites() -> None:
    note = "// Version 2 is flexible (KIP-482).\n//\n// Version 3 adds texts\n// (KIP-4000)."
    found = change(response(RESULT, versions="0-2"), response([*RESULT, ERROR_MESSAGE], note=note))
    assert found is not None
    assert (str(found), found.cites) == ("DeleteGroupsResponse (42): 0-2 -> 0-3", ("KIP-4000",))
    assert [(each.path, each.what, each.says) for each in found.fields] == [
        (("results", "error_message"), NEW, "string, v3, nullable, default null, ignorable")
    ]


@pytest.mark.parametrize(
    ("after", "what"),
    [
        ([field("GroupId", "string"), field("ErrorCode", "int32")], CHANGED),
        ([field("GroupId", "string", nullableVersions="1+"), RESULT[1]], CHANGED),
        ([field("GroupId", "string", "0-2"), RESULT[1]], CHANGED),
        ([field("GroupId", "string", "2+", tag=0, taggedVersions="2+"), RESULT[1]], CHANGED),
        ([field("GroupId", "string", default="x"), RESULT[1]], CHANGED),
        ([field("GroupName", "string"), RESULT[1]], RENAMED),
        ([RESULT[1]], GONE),
    ],
)
def test_changed_facts_of_a_field_are_differences(after: list[dict[str, Any]], what: str) -> None:
    assert [each for _, each in told(response(RESULT), response(after))] == [what]


def test_version_that_no_release_reads_any_more_is_no_difference() -> None:
    old = response([*RESULT, field("Old", "int8", "0")])
    assert told(old, response(RESULT, versions="1-3")) == []


def test_changed_file_declares_what_the_schema_says(monkeypatch: pytest.MonkeyPatch) -> None:
    before = schema("DeleteGroupsRequest", [field("GroupsNames", "[]string")], "0-2"), response(RESULT, versions="0-2")
    after = {each.own: each for each in (REQUEST, response([*RESULT, ERROR_MESSAGE], note="// Version 3 has texts (KIP-4000)."))}
    ours = {each.own: each for each in before}
    found = tuple(each for name in after if (each := change(ours[name], after[name])) is not None)
    text = changed_file(new_file(*before), ours, after, found)
    proposed = module(monkeypatch, text).API
    halves = {"DeleteGroupsRequest": proposed.request, "DeleteGroupsResponse": proposed.response}
    again = {
        name: Schema(proposed.key, name, proposed.versions, proposed.flexible_from, declared_fields(half)) for name, half in halves.items()
    }
    assert [change(again[name], after[name]) for name in after] == [None, None]
    assert "versions 0-3, flexible from 2" in text
    assert "v3 error_message (KIP-4000)." in text


def test_new_file_declares_structs_tags_and_defaults_of_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = {"name": "Inner", "versions": "0+", "fields": [field("Flag", "bool", default="true"), field("Ids", "[]int64")]}
    fields = [
        field("One", "Inner", "1+"),
        field("Maybe", "Inner", nullableVersions="0+", default="null"),
        field("Many", "[]Inner", nullableVersions="2+"),
        field("Id", "uuid"),
        field("Data", "bytes", nullableVersions="0+"),
        field("Share", "float64", "0-2"),
        field("Hint", "int32", "2+", tag=3, taggedVersions="2+", default="-0x1", ignorable=True),
    ]
    after = {each.own: each for each in (REQUEST, schema("DeleteGroupsResponse", fields, commonStructs=[inner]))}
    proposed = module(monkeypatch, new_file(*after.values())).API
    assert str(proposed.versions) == "0-3"
    again = Schema(42, "DeleteGroupsResponse", proposed.versions, proposed.flexible_from, declared_fields(proposed.response))
    assert change(again, after["DeleteGroupsResponse"]) is None


def test_two_structs_of_one_name_are_left_to_the_reader() -> None:
    other = schema("DeleteGroupsRequest", [field("Results", "[]DeletableGroupResult", fields=[field("Other", "int8")])])
    with pytest.raises(ByHand, match="different structs of the name DeletableGroupResult"):
        new_file(other, response(RESULT))


def test_null_in_middle_versions_alone_is_left_to_the_reader() -> None:
    with pytest.raises(ByHand, match="group_id may be null in 1-2 alone"):
        new_file(REQUEST, response([field("GroupId", "string", nullableVersions="1-2"), RESULT[1]]))
