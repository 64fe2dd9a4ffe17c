"""Every kind of row has a class, a description of each field, and survives a round trip through JSON."""

from __future__ import annotations

import msgspec
from cases import for_each

from groupmock.journal.rows import KINDS, ROWS, MovedRow, RequestRow, Row, documentation, kind_of
from groupmock.story.sentences import sentence


def sample(kind: str) -> Row:
    """Return a row of that kind with every field filled."""
    values = {
        "int": 7,
        "str": "x",
        "bool": False,
        "bytes": b"\0\1",
        "dict[str, Any]": {"a": 1},
        "tuple[str, ...]": ("g", "m"),
        "tuple[int, ...]": (1, 2),
        "Any": {"a": 1},
        "list[Payload]": [{"path": "p", "length": 5}],
        "list[ErrorAt]": [{"path": "error_code", "error": "UNKNOWN_MEMBER_ID"}],
    }
    filled = {}
    for name, annotation in all_annotations(ROWS[kind]).items():
        text = annotation.removeprefix("Annotated[").split(", about")[0].removesuffix(" | None")
        filled[name] = values[text]
    return msgspec.convert(filled, ROWS[kind], strict=True) if "raw" not in filled else ROWS[kind](**{**filled, "payloads": None})


def all_annotations(row: type) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in reversed(row.__mro__):
        found |= getattr(one, "__annotations__", {})
    return found


def test_kinds_of_the_contract_come_first():
    """Version 1 of the journal format has these kinds of rows; later versions may add more, and readers keep unknown kinds."""
    first = ("open", "close", "request", "reply", "abandoned", "moved", "member", "timer", "fault", "command", "client", "note")
    assert KINDS[: len(first)] == first


@for_each("kind", KINDS)
def test_round_trip(kind):
    row = sample(kind)
    text = msgspec.json.encode(row)
    assert msgspec.json.decode(text)["kind"] == kind == kind_of(row)
    assert msgspec.json.decode(text, type=ROWS[kind]) == row


@for_each("kind", KINDS)
def test_every_field_is_documented(kind):
    assert all(len(text) > 5 for text in documentation(kind).values())
    assert list(documentation(kind)) == list(ROWS[kind].__struct_fields__)


@for_each("kind", KINDS)
def test_every_kind_has_a_sentence(kind):
    assert sentence(sample(kind)) not in ("", type(sample(kind)).__name__)


class GuestRow(Row, tag="guest", kw_only=True):
    """A row of a kind for which no sentence exists."""

    name: str
    node: int | None = None


def test_a_kind_without_a_sentence_says_its_name_and_fields():
    assert sentence(GuestRow(t=1, node=2, name="me")) == "guest name='me'"


def test_defaults_are_left_out_and_bytes_are_base64():
    row = RequestRow(
        seq=1, t=2, connection=3, ticket=4, correlation_id=5, api_key=12, api_name="Heartbeat", api_version=4,
        received=1, handled=2, size=9, raw=b"\xff\x00",
    )  # fmt: skip
    assert msgspec.json.decode(msgspec.json.encode(row)) == {
        "kind": "request", "seq": 1, "t": 2, "connection": 3, "ticket": 4, "correlation_id": 5, "api_key": 12, "api_name": "Heartbeat",
        "api_version": 4, "received": 1, "handled": 2, "size": 9, "raw": "/wA=",
    }  # fmt: skip


def test_a_move_in_words():
    row = MovedRow(t=0, group="g", before="Stable", after="Empty", generation=3, reason="the last member left", members=0)
    assert sentence(row) == "group g: Stable -> Empty, generation 3, 0 members: the last member left"
