"""Spark parses journal lines into rows and quarantine with every reason, loses no line, and agrees with groupmock's own reader."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Union

import msgspec
import pytest

from groupmock.journal.rows import KINDS, ROWS
from groupmock_pipeline import schema
from groupmock_pipeline.ingest.parsing import LINE, headed, sorted_out, written
from groupmock_pipeline.lake.sink import PART

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

LIMIT = 2000
LINES = """line int, text string, lines int, whole boolean, head_problem string, newer boolean, lacks boolean,
    file string, length int, modified int,
    blank int, valid boolean, file_problem string, day string, run string, epoch bigint"""
FILES = "file string, lines int, head string, whole boolean"

EPOCH = 1_700_000_000_000_000_000
NOTE = '{"kind":"note","seq":1,"t":5,"what":"x"}'
OPEN = '{"kind":"open","seq":1,"t":5,"connection":3,"client_host":"/h","client_port":9}'
REPLY = (
    '{"kind":"reply","seq":1,"t":5,"connection":3,"ticket":1,"correlation_id":0,"api_key":12,'
    '"api_name":"Heartbeat","api_version":4,"size":9'
)

BROKEN = {
    "{": "not JSON",
    '{"kind":"note","seq":1,"t":5,"what":"x"': "not JSON",
    "nonsense": "not JSON",
    "[1]": "not JSON",
    "7": "not JSON",
    '"note"': "not JSON",
    "null": "not JSON",
    f"{NOTE} x": "not JSON",
    NOTE + NOTE: "not JSON",
    f"{NOTE},{NOTE}": "several values",
    NOTE.replace('"', "'"): "not JSON",
    '{"kind":"note","seq":1,"t":NaN,"what":"x"}': "not JSON",
    '{"kind":"note","seq":1,"t":5,"what":"a\tb"}': "not JSON",
    "{}": "no kind",
    '{"seq":1,"t":5,"what":"x"}': "no kind",
    '{"kind":null,"seq":1,"t":5}': "no kind",
    '{"kind":"","seq":1,"t":5}': "unknown kind ",
    '{"kind":"verdict","seq":1,"t":5,"rule":"SERVER-01"}': "unknown kind verdict",
    '{"kind":"note","seq":1,"what":"x"}': "note without t",
    '{"kind":"note","t":5}': "note without seq, what",
    '{"kind":"note","seq":1,"t":null,"what":"x"}': "note without t",
    '{"kind":"open","seq":1,"t":5,"connection":3}': "open without client_host, client_port",
    '{"kind":"note","seq":1,"t":"5","what":"x"}': "t is not a whole number of 64 bits",
    '{"kind":"note","seq":1,"t":5.5,"what":"x"}': "t is not a whole number of 64 bits",
    '{"kind":"note","seq":1,"t":99999999999999999999,"what":"x"}': "t is not a whole number of 64 bits",
    '{"kind":"note","seq":1,"t":9223372036854775807,"what":"x"}': "t is out of range",
    '{"kind":"note","seq":true,"t":"5","what":"x"}': "seq is not a whole number of 64 bits; t is not a whole number of 64 bits",
    '{"kind":"note","seq":1,"t":5,"what":7}': "what is not a text",
    '{"kind":"note","seq":1,"t":5,"what":{"a":1}}': "what is not a text",
    '{"kind":"note","seq":1,"t":5,"what":true}': "what is not a text",
    '{"kind":3,"seq":1,"t":5,"what":"x"}': "unknown kind 3",
    '{"kind":"note","seq":1,"t":5,"what":"x","fields":[1]}': "fields is not an object",
    '{"kind":"note","seq":1,"t":5,"what":"x","fields":"a"}': "fields is not an object",
    '{"kind":"timer","seq":1,"t":5,"subject":["orders",7]}': "subject is not a list of texts",
    REPLY + ',"delivered":"no"}': "delivered is not true or false",
    REPLY + ',"payloads":[3]}': "payloads is not a list of objects",
    '{"kind":"timer","seq":1,"t":5,"subject":"orders"}': "subject is not a list of texts",
    '{"kind":"timer","seq":1,"t":5,"subject":[["orders"]]}': "subject is not a list of texts",
    '{"kind":"note","seq":1,"t":5,"what":"x","connection":"3"}': "connection is not a whole number of 64 bits",
    '{"kind":"note","seq":1,"t":5,"what":"x","client_host":3}': "client_host is not a text",
    '{"kind":"note","seq":1,"t":5,"what":"x","new":NaN}': "not JSON",
    f'{NOTE},"x":{{}}': "not JSON",
    f'{NOTE}],"x":[{{}}': "not JSON",
    f"{NOTE}]}}": "not JSON",
}
GOOD = {
    NOTE: {"kind": "note", "seq": 1, "t": 5, "what": "x", "fields": "{}"},
    f" {NOTE}\r": {"kind": "note", "seq": 1, "t": 5, "what": "x", "fields": "{}"},
    '{"kind":"note","seq":1,"t":5,"what":"12"}': {"kind": "note", "seq": 1, "t": 5, "what": "12", "fields": "{}"},
    '{"kind":"note","seq":1,"t":5,"what":"true"}': {"kind": "note", "seq": 1, "t": 5, "what": "true", "fields": "{}"},
    '{"kind":"note","seq":1,"t":5,"what":"[é\\u00e9\\n"}': {"kind": "note", "seq": 1, "t": 5, "what": "[éé\n", "fields": "{}"},
    '{"t":-5,"what":"x","kind":"note","seq":1,"node":2}': {"kind": "note", "seq": 1, "t": -5, "node": 2, "what": "x", "fields": "{}"},
    OPEN: {"kind": "open", "seq": 1, "t": 5, "connection": 3, "client_host": "/h", "client_port": 9},
    REPLY + ',"delivered":false,"message":{"a":[1,{"b":null}]}}': {"delivered": False, "waited": 0, "message": '{"a":[1,{"b":null}]}'},
    REPLY + ',"message":null,"payloads":[{"path":"p","length":3}]}': {"delivered": True, "message": None, "size": 9},
    '{"kind":"timer","seq":1,"t":5}': {"kind": "timer", "seq": 1, "t": 5, "timer": None, "subject": []},
    '{"kind":"timer","seq":1,"t":5,"subject":["a","7"]}': {"subject": ["a", "7"]},
    '{"kind":"note","seq":1,"t":5,"what":"x","connection":3,"rule":null}': {"what": "x", "connection": 3, "rule": None},
    '{"kind":"fault","seq":1,"t":5,"rule":"r","stage":"s","action":"a","connection":null}': {"connection": None, "fields": "{}"},
}
NEW = {
    '{"kind":"note","seq":1,"t":5,"what":"x","colour":{"deep":[1]}}',
    '{"kind":"open","t":5,"seq":1,"connection":3,"client_host":"/h","client_port":9,"x":1}',
    OPEN[:-1] + ',"":0}',
    NOTE[:-1] + ',"fields":{"a":[1e2,1e2]},"":1}',
    NOTE[:-1] + ',"fields":{"a":"\\u0022,\\u0022:"},"b":1}',
}


# Values of every JSON type, so that some of them are wrong for any field.
ANY = ["7", "1.5", "true", '"abcd"', "[]", "[7]", '["abcd"]', "[[]]", "{}", '{"a":1}']
RIGHT = {"bigint": 7, "string": "abcd", "boolean": True}


def odd_values() -> list[str]:
    """Return rows that are valid except for one field with a value of `ANY`, for every field of every kind, formatted in two ways."""
    types = {field.name: field.dataType.simpleString() for field in schema.LINE.fields}
    found = []
    for kind in KINDS:
        row = {"kind": kind, **{name: RIGHT[types[name]] for name in schema.required(kind)}}
        for name in schema.fields_of(kind):
            others = json.dumps({key: value for key, value in row.items() if key != name})[:-1]
            found += [f'{others},"{name}":{value}}}' for value in ANY]
            found += [as_groupmock({**row, name: json.loads(value)}) for value in ANY]
    return found


def as_groupmock(row: dict[str, Any]) -> str:
    """Return a line as groupmock writes it: without spaces, and with the fields in the order of their kind."""
    order = ("kind", *schema.fields_of(row["kind"]))
    return json.dumps({name: row[name] for name in order if name in row}, separators=(",", ":"))


ODD = odd_values()
CASES = [*BROKEN, *GOOD, *sorted(NEW), *ODD]


def line(
    number: int,
    text: str,
    lines: int = 10_000,
    whole: bool = True,
    head_problem: str | None = None,
    newer: bool = False,
    lacks: bool = False,
) -> tuple[Any, ...]:
    known = ("unknown", "no-header-1", None) if head_problem else ("2023-11-14", "key", EPOCH)
    return (number, text, lines, whole, head_problem, newer, lacks, "/f", 1, 2, 3, True, "odd", *known)


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[int, Row]:
    """Return the parsed cases by line number, starting at 2 because line 1 is the header."""
    given = [line(number, text) for number, text in enumerate(CASES, 2)]
    special = [
        line(9000, NOTE + " " * LIMIT), line(9001, NOTE, newer=True), line(9002, '{"kind":"no', 9002, False), line(9003, NOTE, 9003, False),
        line(9004, '{"kind":"no', 9005, False), line(9005, NOTE, head_problem="x"), line(9006, ""), line(9007, " \t\r"),
        line(1, "the header"), line(9008, "", 9008, False, lacks=True), line(0, "the header"),
    ]  # fmt: skip
    return {row.line: row for row in sorted_out(spark.createDataFrame(given + special, LINES), LIMIT).collect()}


def test_every_line_is_somewhere(found: dict[int, Row]) -> None:
    assert set(found) == {0, *range(2, len(CASES) + 2), *range(9000, 9006), 9008}, "but for blank ones and the header"
    assert {row[PART] for row in found.values()} == {"rows", "quarantine", "files"}
    assert [*found[0].asDict()] == [*schema.ROWS.names, "text", "bytes", "length", "modified", "head", "lines", "blank", "problem", PART]


def test_what_is_no_row_says_why(found: dict[int, Row]) -> None:
    said = {text: (found[number][PART], found[number].reason, found[number].text) for number, text in enumerate(BROKEN, 2)}
    assert said == {text: ("quarantine", reason, text) for text, reason in BROKEN.items()}
    assert {found[number].run for number in range(2, len(BROKEN) + 2)} == {"key"}


def test_rows_with_their_defaults(found: dict[int, Row]) -> None:
    for number, (text, expected) in enumerate(GOOD.items(), len(BROKEN) + 2):
        row = found[number]
        assert (row[PART], row.day, row.run, row.file, row.more) == ("rows", "2023-11-14", "key", "/f", None), text
        assert row.at == EPOCH + row.t
        assert {name: row[name] for name in expected} == expected
    plain = found[len(BROKEN) + 2]
    assert {name for name in schema.LINE.names if plain[name] is not None} == {"kind", "seq", "t", "what", "fields"}


def test_what_groupmock_writes_is_known_again_and_looked_into_no_further(spark: SparkSession) -> None:
    types = {field.name: field.dataType.simpleString() for field in schema.LINE.fields}
    objects = {*LINE.objects, *(LINE.plain - LINE.expected.keys())}
    values: dict[str, Any] = {name: {"a": [1, "b"]} if name in objects else RIGHT[types[name]] for name in LINE.plain}
    lines = []
    for kind in KINDS:
        for names in (schema.required(kind), LINE.plain.intersection(schema.fields_of(kind))):
            row = msgspec.convert({name: values[name] for name in names} | {"kind": kind}, ROWS[kind])
            lines.append(msgspec.json.encode(row).decode())
    frame = spark.createDataFrame([(text,) for text in lines], "text string").withColumn("row", LINE.parse("text")["row"][0])
    assert [row.text for row in frame.where(f"not coalesce(text = {written()}, false)").collect()] == []


def test_groupmocks_own_reader_agrees(found: dict[int, Row]) -> None:
    """The lake additionally needs a number in every row, times that fit into 64 bits, and the right types in columns of other kinds."""
    decoder = msgspec.json.Decoder(Union[tuple(ROWS.values())])  # noqa: UP007
    only_ours = ("9" * 9, "2233720368", 'client_host":3', 'connection":"3"', ":NaN}")
    for number, text in enumerate(CASES, 2):
        try:
            decoder.decode(text)
            row = True
        except msgspec.DecodeError:
            row = False
        if not any(each in text for each in only_ours) and "without seq" not in str(found[number].reason):
            assert row == (found[number][PART] == "rows"), (text, found[number].reason)


def test_what_is_newer_is_kept_whole(found: dict[int, Row]) -> None:
    for number, text in enumerate(sorted(NEW), len(BROKEN) + len(GOOD) + 2):
        assert (found[number][PART], found[number].more) == ("rows", text)
    assert (found[9001][PART], found[9001].more) == ("rows", NOTE)


def test_lines_that_their_file_says_something_about(found: dict[int, Row]) -> None:
    reason = f"over-long: {LIMIT + len(NOTE)} bytes in one line"
    assert (found[9000][PART], found[9000].reason, len(found[9000].text)) == ("quarantine", reason, 1024)
    assert found[9002].reason == "cut: the file ends within this line: not JSON"
    assert found[9003][PART] == "rows", "a whole object is a row even if its line's end is missing"
    assert found[9004].reason == "not JSON", "it is not the last one"
    assert (found[9005][PART], found[9005].reason, found[9005].run) == ("quarantine", "no journal header: x", "no-header-1")
    assert (found[9008][PART], found[9008].reason, found[9008].text) == ("quarantine", "cut: the packed data ends within a line", "")
    about = found[0]
    assert (about[PART], about.head, about.length, about.modified, about.lines, about.blank) == ("files", "the header", 1, 2, 10_000, 3)
    assert (about.problem, about.kind, about.text, about.reason) == ("odd", None, None, None)


HEAD = {"v": 1, "run": "ci 7/é", "product": "p", "seed": 1, "epoch_ns": EPOCH, "profile": "g", "config": {}, "complete": True}
LONG_HEAD = json.dumps(HEAD | {"run": "r" * LIMIT})
HEADS: list[tuple[str, str | None]] = [
    (json.dumps(HEAD), None),
    (json.dumps(HEAD | {"v": 2, "new": [1]}), None),
    ('{"v":1,"run":"","epoch_ns":-1}', None),
    ("junk", "the first line is not JSON"),
    (NOTE, "the first line is a row already"),
    ("{}", "the first line has no v, run, epoch_ns"),
    (json.dumps(HEAD | {"v": 0}), "unknown format 0"),
    (json.dumps(HEAD | {"seed": "x"}), "the first line is seed is not a whole number of 64 bits"),
    (json.dumps(HEAD | {"run": 7}), "run is not a text"),
    (json.dumps(HEAD | {"config": 7}), "config is not an object"),
    (LONG_HEAD, f"over-long: {len(LONG_HEAD)} bytes in one line"),
]


@pytest.fixture(scope="module")
def heads(spark: SparkSession) -> list[Row]:
    frame = spark.createDataFrame([(f"/f{number}", 1, head, True) for number, (head, _) in enumerate(HEADS)], FILES)
    return sorted(headed(frame, LIMIT).collect(), key=lambda row: int(row.file[2:]))


def test_headers_that_are_understood(heads: list[Row]) -> None:
    first, newer, bare = heads[:3]
    assert first.run.startswith("ci_7_-1700000000000000000-") and len(first.run) == 38 and (first.day, first.epoch) == ("2023-11-14", EPOCH)
    assert (first.newer, newer.newer) == (False, True)
    assert newer.run != first.run
    assert (bare.day, bare.epoch, bare.run[:4]) == ("1969-12-31", -1, "--1-")


def test_headers_that_are_not(heads: list[Row]) -> None:
    assert [row.head_problem for row in heads] == [problem for _, problem in HEADS]
    assert {row.day for row in heads[3:]} == {"unknown"}
    assert len({row.run for row in heads}) == len(heads)


def test_a_packed_file_without_a_lines_end_is_cut(spark: SparkSession) -> None:
    whole = json.dumps(HEAD)
    files = [
        ("/a.gz", 2, whole, False),
        ("/b.zst", 2, whole, True),
        ("/c", 2, whole, False),
        ("/d.gz", 2, "junk", False),
        ("/e.gz", 0, "", False),
    ]
    told = {row.file: row.file_problem for row in headed(spark.createDataFrame(files, FILES), LIMIT).collect()}
    cut, empty = "cut: the packed data ends within a line", "the file is empty"
    assert told == {"/a.gz": cut, "/b.zst": None, "/c": None, "/d.gz": "the first line is not JSON", "/e.gz": empty}


def test_no_python_worker_and_no_function_of_our_own_in_the_parser(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    sorted_out(spark.createDataFrame([line(1, NOTE)], LINES), LIMIT).explain()
    text = capsys.readouterr().out
    assert "from_json" in text
    assert not {word for word in ("Python", "ArrowEval", "UDF", "Window", "Exchange") if word in text}
