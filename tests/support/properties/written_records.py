"""Written lines are read back byte for byte, whole or page by page, and the records read can be written again.

Case: `partitions`; `limit`: records of a page; `forms`: how they are shown; `records`: [key, value, headers, timestamp, partition], bytes
as base64.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import msgspec
from data_world import DataWorld
from found import Case, Property

from groupmock.data.lines import RecordLine, ShownRecord, new_record, numbered, read_line, shown
from groupmock.data.placing import Placing
from groupmock.data.reading import starts
from groupmock_codec.records import Record


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def _line(record: list[Any]) -> dict[str, Any]:
    key, value, headers, timestamp, partition = record
    line = {"key": _bytes(key), "value": _bytes(value), "headers": [(name, _bytes(content)) for name, content in headers]}
    return line | {"timestamp": timestamp, "partition": partition}


def _holds(case: Case) -> None:
    lines = [_line(record) for record in case["records"]]
    world = DataWorld()
    world.topic("t", partitions=case["partitions"])
    world.write("t", lines)
    found = world.records("t")
    assert _by_partition(found) == _wanted(lines, case["partitions"])
    assert _paged(world, case["limit"]) == found
    for partition, record in found:
        _written_again(partition, record, *case["forms"])


def _by_partition(found: list[tuple[int, Record]]) -> dict[int, list[Any]]:
    logs: dict[int, list[Any]] = {}
    for partition, each in found:
        logs.setdefault(partition, []).append((each.key, each.value, list(each.headers), each.timestamp))
    return logs


def _wanted(lines: list[dict[str, Any]], partitions: int) -> dict[int, list[Any]]:
    """Return the expected records of each partition in the order of the lines."""
    logs: dict[int, list[Any]] = {}
    placing = Placing(partitions)
    for line in lines:
        partition = placing.choose(line["key"]) if line["partition"] is None else line["partition"]
        logs.setdefault(partition, []).append((line["key"], line["value"], line["headers"], line["timestamp"]))
    return logs


def _paged(world: DataWorld, limit: int) -> list[tuple[int, Record]]:
    found, topic = [], world.topics.require("t")
    begin, more = starts(world.cluster, topic, None, None, None, None), True
    while more:
        page = world.read("t", limit, starts=begin)
        assert 0 < len(page.records) <= limit or not page.more
        found += [(each.partition, each.record) for each in page.records]
        begin, more = starts(world.cluster, topic, None, None, None, page.place()), page.more
    return found


def _written_again(partition: int, record: Record, key_as: Any, value_as: Any) -> None:
    seen: ShownRecord = shown(partition, record, key_as, value_as)
    (line,) = numbered(msgspec.json.encode(seen))
    again = new_record(1, read_line(line, RecordLine), None, None, 0)
    assert (again.headers, again.timestamp) == (list(record.headers), record.timestamp)
    for before, after, form in ((record.key, again.key, seen.key_as), (record.value, again.value, seen.value_as)):
        assert after == (msgspec.json.format(before, indent=-1) if form == "json" and before is not None else before)


WRITTEN_RECORDS = Property("written_records", _holds)
