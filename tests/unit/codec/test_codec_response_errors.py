"""Every place of an error code is found by its path in every version of every response."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from cases import for_each

from groupmock_codec import APIS
from groupmock_codec.declare import Message, fields_of
from groupmock_codec.errors import EncodeError
from groupmock_codec.messages.k08_offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from groupmock_codec.response_errors import error_codes, has_error_codes
from groupmock_codec.samples import sample

CODE = 25


def filled(message: type[Message], version: int) -> Any:
    """Return a message with one element in every array of the version and with every struct."""
    made: Any = message()
    for field in fields_of(message):
        wire = field.wire
        if wire.kind == "array" and wire.element_wire.kind == "struct" and field.present(version):
            setattr(made, field.name, [filled(wire.element_wire.struct, version)])
        elif wire.kind == "struct" and field.present(version):
            setattr(made, field.name, filled(wire.struct, version))
    return made


def places(message: Any, path: str = "") -> Iterator[tuple[Any, str, str]]:
    """Yield struct, name and path of every field that a reader of the schema would call an error code. By names, without the
    declarations."""
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if name.endswith("error_code"):
            yield message, name, f"{path}{name}"
        elif isinstance(value, list):
            for place, each in enumerate(value):
                if isinstance(each, Message):
                    yield from places(each, f"{path}{name}[{place}].")
        elif isinstance(value, Message):
            yield from places(value, f"{path}{name}.")


RESPONSES = [(APIS[key].name, version) for key in APIS for version in range(APIS[key].versions.lowest, APIS[key].versions.highest + 1)]


@for_each("name, version", RESPONSES)
def test_each_error_that_a_version_can_carry_is_found_alone(name: str, version: int) -> None:
    """The test sets one error code, encodes the answer, and finds the code if the version can carry it."""
    codec = APIS[name].response
    codes = error_codes(codec.message, version)
    for place in range(sum(1 for _ in places(filled(codec.message, version)))):
        message = filled(codec.message, version)
        struct, field, path = list(places(message))[place]
        setattr(struct, field, CODE)
        try:
            arrived = codec.decode(version, codec.encode(version, message))
        # This version of the answer has no field for the error, and the codec must not drop an error silently.
        except EncodeError as refusal:
            assert refusal.path == path, refusal
            arrived = codec.message()
        there = [(where, getattr(inside, each)) for inside, each, where in places(arrived) if getattr(inside, each)]
        assert list(codes.each(arrived)) == list(codes.each(message)) == there, path
        assert codes.first(arrived) == (CODE if there else 0), path


@for_each("name, version", RESPONSES)
def test_random_answers_have_the_errors_that_a_slow_walk_finds(name: str, version: int) -> None:
    codec, dice = APIS[name].response, random.Random(version)
    codes = error_codes(codec.message, version)
    for _ in range(5):
        arrived = codec.decode(version, codec.encode(version, sample(codec.message, version, codec.flexible(version), dice)))
        there = sorted((where, getattr(inside, each)) for inside, each, where in places(arrived) if getattr(inside, each))
        found = list(codes.each(arrived))
        assert sorted(found) == there
        assert codes.first(arrived) == (found[0][1] if found else 0)


def test_what_a_struct_says_of_itself_comes_before_what_stands_inside() -> None:
    """OffsetFetch declares its top-level error code after its topics, but the error is returned first."""
    message = filled(APIS["OffsetFetch"].response.message, 7)
    for struct, field, _ in places(message):
        setattr(struct, field, CODE)
    message.error_code = 16
    codes = error_codes(type(message), 7)
    assert codes.first(message) == 16
    assert [path for path, _ in codes.each(message)] == ["error_code", "topics[0].partitions[0].error_code"]


def test_places_are_counted_in_their_arrays() -> None:
    topics = [OffsetCommitResponseTopic(name=name, partitions=[OffsetCommitResponsePartition() for _ in range(3)]) for name in "ab"]
    topics[1].partitions[2].error_code = CODE
    found = error_codes(OffsetCommitResponse, 8).each(OffsetCommitResponse(topics=topics))
    assert list(found) == [("topics[1].partitions[2].error_code", CODE)]


def test_what_cannot_hold_an_error_is_not_looked_at() -> None:
    """The search skips aborted transactions and records in a Fetch answer, and all requests."""
    assert not has_error_codes(APIS["JoinGroup"].request.message, 9)
    looked = error_codes(APIS["Fetch"].response.message, 12).first.__code__.co_names
    assert set(looked) == {"error_code", "responses", "partitions"}
