"""A line is parsed into a record, and an unreadable line gets an error that names the field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from aiokafka.partitioner import murmur2 as of_aiokafka
from cases import for_each
from data_world import DataWorld

from groupmock.data.lines import LONGEST_LINE, BadLine, lines_of, shown
from groupmock.data.placing import Placing, murmur2
from groupmock_codec.records import Record

MEANT: dict[str, tuple[str, dict[str, Any], bytes | None]] = {
    "a text": ('{"value": "caf\\u00e9"}', {}, "café".encode()),
    "an object": ('{"value": {"b": 1.50, "a": [1, 2]}}', {}, b'{"b":1.50,"a":[1,2]}'),
    "a number": ('{"value": 12345678901234567890123}', {}, b"12345678901234567890123"),
    "null": ('{"value": null}', {}, None),
    "nothing": ('{"key": "k"}', {}, None),
    "base64": ('{"value": "AP8=", "value_as": "base64"}', {}, b"\x00\xff"),
    "a text as JSON": ('{"value": "v", "value_as": "json"}', {}, b'"v"'),
    "null as JSON is Kafka's": ('{"value": null, "value_as": "json"}', {}, None),
    "by the call": ('{"value": "AP8="}', {"value_as": "base64"}, b"\x00\xff"),
    "the line goes before the call": ('{"value": "AP8=", "value_as": "text"}', {"value_as": "base64"}, b"AP8="),
}


@for_each(("line", "forms", "wanted"), MEANT.values(), ids=MEANT)
def test_a_line_means(line: str, forms: dict[str, Any], wanted: bytes | None) -> None:
    world = DataWorld()
    world.topic("t")
    world.write("t", line, **forms)
    assert [record.value for _, record in world.records("t")] == [wanted]


def test_headers_in_both_forms_and_what_stands_beside_them() -> None:
    world = DataWorld()
    world.topic("t", partitions=2)
    world.write(
        "t",
        """
        {"value": "v", "partition": 1, "timestamp": 5, "headers": {"a": "x", "b": null}}
        {"value": "v", "partition": 1, "headers": [{"key": "a", "value": "AA==", "value_as": "base64"}, {"key": "a", "value": {"n": 1}}]}
        """,
    )
    (at, first), (_, second) = world.records("t")
    assert (at, first.timestamp, first.headers) == (1, 5, (("a", b"x"), ("b", None)))
    assert second.headers == (("a", b"\0"), ("a", b'{"n":1}'))


WRONG: dict[str, tuple[str, str]] = {
    "no JSON": ("\nvalue", "line 2: not JSON, one record a line: JSON is malformed"),
    "cut": ('{"value": "v"}\n\n{"value": ', "line 3: not JSON"),
    "no object": ("[1]", "line 1: Expected `object`, got `array`"),
    "unknown field": ('{"vlaue": 1}', "line 1: Object contains unknown field `vlaue` (did you mean value? it takes: [topic], [partition]"),
    "of the wrong type": (
        '{"value": 1, "timestamp": "now"}',
        "line 1: Expected `int | null`, got `str` - at `$.timestamp` (timestamp: ms",
    ),
    "unknown form": (
        '{"value": 1, "value_as": "hex"}',
        "line 1: Invalid enum value 'hex' - at `$.value_as` (value_as: text, json or",
    ),
    "no text": ('{"value": 1, "value_as": "text"}', 'line 1: value: a string is wanted, as text (or say value_as: "json")'),
    "no base64": ('{"key": "*", "key_as": "base64"}', "line 1: key: not base64: "),
    "too deep": ('{"value": ' + "[" * 5000 + "]" * 5000 + "}", "line 1: not JSON, one record a line: nested too deep"),
    "no such partition": ('{"value": 1, "partition": 2}', "line 1: partition: 2: topic 't' has 0 to 1: grow it first"),
    "another topic": ('{"value": 1, "topic": "u"}', "line 1: topic: 'u' is not 't', to which these records are written"),
    "too long": ('{"value": "' + "x" * LONGEST_LINE + '"}', f"line 1: more than {LONGEST_LINE} bytes"),
}


@for_each(("text", "wanted"), WRONG.values(), ids=WRONG)
def test_a_wrong_line_is_named_and_nothing_is_written(text: str, wanted: str) -> None:
    world = DataWorld()
    world.topic("t", partitions=2)
    with pytest.raises(BadLine) as wrong:
        world.write("t", '{"value": "good"}\n' + text)
    number = int(wanted.partition("line ")[2].partition(":")[0] or 1) if wanted.startswith("line ") else 1
    assert wanted.replace(f"line {number}:", f"line {number + 1}:") in str(wrong.value)
    assert world.records("t") == []


def test_bytes_that_are_no_utf8_are_said_to_be() -> None:
    world = DataWorld()
    world.topic("t")
    with pytest.raises(BadLine, match=r"line 1: value: no JSON string: .*invalid start byte"):
        world.write("t", b'{"value": "\xff"}')


def test_what_is_said_of_a_long_line_is_short() -> None:
    world = DataWorld()
    world.topic("t")
    with pytest.raises(BadLine) as wrong:
        world.write("t", '{"' + "x" * 100_000 + '": 1}')
    assert len(str(wrong.value)) < 700


def test_python_data_has_bytes() -> None:
    assert lines_of([{"key": b"\0", "value": "v", "headers": [("h", b"\xff"), ("h", None)]}]) == (
        b'{"key":"AA==","value":"v","headers":[{"key":"h","value":"/w==","value_as":"base64"},{"key":"h","value":null}],"key_as":"base64"}'
    )
    with pytest.raises(BadLine, match=r"line 2: .*object"):
        lines_of([{"value": 1}, {"value": object()}])


SHOWN: dict[str, tuple[bytes | None, Any, tuple[Any, str]]] = {
    "text": (b"caf\xc3\xa9", None, ("café", "text")),
    "no text": (b"\xff", None, ("/w==", "base64")),
    "no text, as text": (b"\xff", "text", ("/w==", "base64")),
    "JSON is a text": (b'{"a": 1}', None, ('{"a": 1}', "text")),
    "as JSON": (b'{"a": 1.50}', "json", ({"a": 1.5}, "json")),
    "no JSON, as JSON": (b"{", "json", ("{", "text")),
    "the JSON null, as JSON": (b"null", "json", ("null", "text")),
    "as base64": (b"v", "base64", ("dg==", "base64")),
    "null": (None, "json", (None, "text")),
}


@for_each(("data", "form", "wanted"), SHOWN.values(), ids=SHOWN)
def test_a_record_is_shown(data: bytes | None, form: Any, wanted: tuple[Any, str]) -> None:
    told = msgspec.json.decode(msgspec.json.encode(shown(0, Record(3, 5, None, data), None, form)))
    assert (told["value"], told.get("value_as", "text")) == wanted


@for_each("transaction", ["open", "aborted"])
def test_a_record_that_is_not_committed_is_not_written_again(transaction: str) -> None:
    world = DataWorld()
    world.topic("t")
    with pytest.raises(BadLine, match=f"line 2: transaction: the record is {transaction}: read with isolation"):
        world.write("t", [{"value": "v", "transaction": "committed"}, {"value": "w", "transaction": transaction}])
    assert world.records("t") == []


def test_keys_go_where_kafkas_producers_send_them() -> None:
    keys = [b"", *(bytes(range(start, start + size)) for size in range(1, 20) for start in (0, 100, 230))]
    assert [murmur2(key) for key in keys] == [of_aiokafka(key) & 0xFFFFFFFF for key in keys]
    placing = Placing(3)
    assert [placing.choose(key) for key in (None, b"foobar", None, None, None)] == [0, (-790332482 & 0x7FFFFFFF) % 3, 1, 2, 0]
