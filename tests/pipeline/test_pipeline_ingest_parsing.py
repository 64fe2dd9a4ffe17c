"""Lines to rows and quarantine, by Spark's functions: every reason, nothing lost, and what groupmock's own reader says of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Union

import msgspec
import pytest

from groupmock.journal.rows import ROWS
from groupmock_pipeline import schema
from groupmock_pipeline.ingest.parsing import headed, sorted_out
from groupmock_pipeline.ingest.workers import FIRST, LINES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

EPOCH = 1_700_000_000_000_000_000
NOTE = '{"kind":"note","seq":1,"t":5,"what":"x"}'
OPEN = '{"kind":"open","seq":1,"t":5,"connection":3,"client_host":"/h","client_port":9}'
REPLY = (
    '{"kind":"reply","seq":1,"t":5,"connection":3,"ticket":1,"correlation_id":0,"api_key":12,"api_name":"Heartbeat","api_version":4,"size":9'
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
    '{"kind":"fault","seq":1,"t":5,"rule":"r","stage":"s","action":"a","connection":null}': {"connection": None, "fields": "{}"},
}
NEW = {
    '{"kind":"note","seq":1,"t":5,"what":"x","colour":{"deep":[1]}}',
    '{"kind":"open","t":5,"seq":1,"connection":3,"client_host":"/h","client_port":9,"x":1}',
}


def line(number: int, text: str | None, problem: str | None = None, newer: bool = False, whole: bool = True) -> tuple[Any, ...]:
    return (False, "/f", "2023-11-14", "key", EPOCH, newer, number, problem, text, None, whole)


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[int, Row]:
    """All cases in one frame, by line number."""
    given = [line(number, text) for number, text in enumerate([*BROKEN, *GOOD, *sorted(NEW)])]
    special = [
        line(900, NOTE, "over-long"), line(901, NOTE, newer=True), line(902, '{"kind":"no', whole=False), line(903, NOTE, whole=False),
        (False, "/f", "unknown", "no-header-1", None, False, 904, "no journal header: x", NOTE, "Zm9v", True),
        (True, "/f", "2023-11-14", "key", EPOCH, False, 905, None, '{"lines":3}', None, True),
    ]  # fmt: skip
    return {row.line: row for row in sorted_out(spark.createDataFrame(given + special, LINES)).collect()}


def test_every_line_is_somewhere(found: dict[int, Row]) -> None:
    assert len(found) == len(BROKEN) + len(GOOD) + len(NEW) + 6
    assert {row.part for row in found.values()} == {"rows", "quarantine", "files"}
    assert [*next(iter(found.values())).asDict()] == ["part", *schema.ROWS.names]


def test_what_is_no_row_says_why(found: dict[int, Row]) -> None:
    said = {text: (found[number].part, found[number].reason, found[number].more) for number, text in enumerate(BROKEN)}
    assert said == {text: ("quarantine", reason, text) for text, reason in BROKEN.items()}
    assert all(found[number].run == "-" and found[number].kind is None for number in range(len(BROKEN)))


def test_rows_with_their_defaults(found: dict[int, Row]) -> None:
    for number, (text, expected) in enumerate(GOOD.items(), len(BROKEN)):
        row = found[number]
        assert (row.part, row.day, row.run, row.file, row.more) == ("rows", "2023-11-14", "key", "/f", None), text
        assert row.at == EPOCH + row.t
        assert {name: row[name] for name in expected} == expected
    plain = found[len(BROKEN)]
    assert {name for name in schema.LINE.names if plain[name] is not None} == {"kind", "seq", "t", "what", "fields"}


def test_groupmocks_own_reader_agrees(found: dict[int, Row]) -> None:
    """On which lines are rows, but for what only the lake wants: a number for every row, and times that fit into 64 bits."""
    decoder = msgspec.json.Decoder(Union[tuple(ROWS.values())])  # noqa: UP007
    for number, text in enumerate([*BROKEN, *GOOD, *sorted(NEW)]):
        try:
            decoder.decode(text)
            row = True
        except msgspec.DecodeError:
            row = False
        if "9" * 9 not in text and "2233720368" not in text and "without seq" not in str(found[number].reason):
            assert row == (found[number].part == "rows"), text


def test_what_is_newer_is_kept_whole(found: dict[int, Row]) -> None:
    for number, text in enumerate(sorted(NEW), len(BROKEN) + len(GOOD)):
        assert (found[number].part, found[number].more) == ("rows", text)
    assert (found[901].part, found[901].more) == ("rows", NOTE)


def test_what_the_reader_found_wrong_stays_so(found: dict[int, Row]) -> None:
    assert (found[900].part, found[900].reason, found[900].more) == ("quarantine", "over-long", NOTE)
    assert found[902].reason == "cut: the file ends within this line: not JSON"
    assert found[903].part == "rows", "a whole object is a row even if its line's end is missing"
    assert (found[904].reason, found[904].raw) == ("no journal header: x", "Zm9v")
    assert (found[905].part, found[905].more) == ("files", '{"lines":3}')


HEAD = {"v": 1, "run": "ci 7/é", "product": "p", "seed": 1, "epoch_ns": EPOCH, "profile": "g", "config": {}, "complete": True}
HEADS: list[tuple[str | None, str | None, str | None]] = [
    (json.dumps(HEAD), None, None),
    (json.dumps(HEAD | {"v": 2, "new": [1]}), None, None),
    ('{"v":1,"run":"","epoch_ns":-1}', None, None),
    (None, "the file is empty", "the file is empty"),
    ("junk", None, "the first line is not JSON"),
    (NOTE, None, "the first line is a row already"),
    ("{}", None, "the first line has no v, run, epoch_ns"),
    (json.dumps(HEAD | {"v": 0}), None, "unknown format 0"),
    (json.dumps(HEAD | {"seed": "x"}), None, "the first line is seed is not a whole number of 64 bits"),
    (json.dumps(HEAD | {"run": 7}), None, "run is not a text"),
    (json.dumps(HEAD | {"config": 7}), None, "config is not an object"),
]


@pytest.fixture(scope="module")
def heads(spark: SparkSession) -> list[Row]:
    frame = spark.createDataFrame([(f"/f{number}", 1, 2, head, said) for number, (head, said, _) in enumerate(HEADS)], FIRST)
    return sorted(headed(frame).collect(), key=lambda row: int(row.file[2:]))


def test_headers_that_are_understood(heads: list[Row]) -> None:
    first, newer, bare = heads[:3]
    assert first.run.startswith("ci_7_-1700000000000000000-") and len(first.run) == 38 and (first.day, first.epoch) == ("2023-11-14", EPOCH)
    assert (first.newer, newer.newer) == (False, True)
    assert newer.run != first.run
    assert (bare.day, bare.epoch, bare.run[:4]) == ("1969-12-31", -1, "--1-")


def test_headers_that_are_not(heads: list[Row]) -> None:
    assert [row.head_problem for row in heads] == [problem for _, _, problem in HEADS]
    assert {row.day for row in heads[3:]} == {"unknown"}
    assert len({row.run for row in heads}) == len(heads)


def test_no_python_worker_and_no_function_of_our_own_in_the_parser(spark: SparkSession) -> None:
    plan: DataFrame = sorted_out(spark.createDataFrame([line(1, NOTE)], LINES))
    text = plan._jdf.queryExecution().executedPlan().toString()
    assert "from_json" in text
    assert not {word for word in ("Python", "ArrowEval", "UDF", "Window", "Exchange") if word in text}
