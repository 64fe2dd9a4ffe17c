"""A refusal can be encoded for every API and version, and contains one error per requested entity."""

from __future__ import annotations

from typing import Any

from cases import for_each

from groupmock.faults import refusals
from groupmock_codec import APIS
from groupmock_codec.declare import Message, fields_of
from groupmock_codec.error_codes import NOT_COORDINATOR

SERVED = [key for key in APIS if key not in (24, 25, 26, 28, 68, 69)]
VERSIONS = [(key, version) for key in SERVED for version in range(APIS[key].versions.lowest, APIS[key].versions.highest + 1)]


def asking(message: type[Message], version: int) -> Any:
    """Return a request with one element in every list."""
    made: Any = message()
    for field in fields_of(message):
        if field.present(version) and field.wire.kind == "array":
            element = field.wire.element_wire
            one: Any = asking(element.struct, version) if element.kind == "struct" else "a" if element.kind == "string" else 0
            setattr(made, field.name, [one if element.kind != "uuid" else bytes(16)])
    return made


def errors(message: Any) -> list[int]:
    """Return every error code in a message."""
    found = []
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if field.name == "error_code":
            found.append(value)
        elif field.wire.kind == "array" and value and field.wire.element_wire.kind == "struct":
            found += [code for each in value for code in errors(each)]
    return found


@for_each(("key", "version"), VERSIONS, ids=lambda each: str(each))
def test_every_refusal_is_written_and_says_so(key: int, version: int) -> None:
    api = APIS[key]
    if refusals.cannot("request", api.name, version) is not None:
        assert api.name == "Metadata" and version < 13
        return
    request = asking(api.request.message, version)
    answer = refusals.refusal(api.name, version, request, None, NOT_COORDINATOR)
    again = api.response.decode(version, api.response.encode(version, answer))
    assert NOT_COORDINATOR in errors(again)
    assert set(errors(again)) <= {NOT_COORDINATOR, 0}


def test_an_offset_commit_is_refused_partition_by_partition() -> None:
    message = APIS[8].request.message
    request = asking(message, 5)
    request.topics.append(asking(type(request.topics[0]), 5))
    request.topics[1].name = "b"
    answer: Any = refusals.refusal("OffsetCommit", 5, request, None, NOT_COORDINATOR)
    assert [(topic.name, [part.error_code for part in topic.partitions]) for topic in answer.topics] == [("", [16]), ("b", [16])]


@for_each(("key", "asked", "told"), [(1, "partition", "partition_index"), (23, "partition", "partition")])
def test_a_partition_is_named_as_the_answer_names_it(key: int, asked: str, told: str) -> None:
    request = asking(APIS[key].request.message, 3)
    setattr(request.topics[0].partitions[0], asked, 7)
    answer: Any = refusals.refusal(APIS[key].name, 3, request, None, NOT_COORDINATOR)
    (part,) = (answer.responses if key == 1 else answer.topics)[0].partitions
    assert (getattr(part, told), part.error_code) == (7, NOT_COORDINATOR)
