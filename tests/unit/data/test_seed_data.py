"""Lines of seed data create topics, records, commits and configs in order; an error names file, line and field, and nothing is applied."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import for_each
from data_world import DataWorld

from groupmock import Broker
from groupmock.data.seed import BadSeedData, Seeded, read_seed_data, seed_data_of
from groupmock.rig.replay import replay

WHOLE = b"""
{"topic": "orders", "partitions": 2, "configs": {"cleanup.policy": "compact", "retention.ms": -1, "preallocate": true}}
{"topic": "orders", "key": "a", "value": {"n": 1}, "partition": 1}
{"topic": "orders", "key": "a", "value": null, "partition": 1}

{"topic": "made", "value": "v"}
{"node": 0, "configs": {"message.max.bytes": 2000}}
{"group": "g", "topic": "orders", "partition": 1, "offset": 1}
{"group": "g", "topic": "orders", "partition": 1, "offset": 2, "metadata": "m"}
{"group": "h", "topic": "made", "partition": 0, "offset": 0}
"""


def test_every_kind_of_line() -> None:
    world = DataWorld()
    assert seed_data_of(WHOLE, "f").apply(world.running) == Seeded(topics=1, records=3, commits=3, nodes=1)
    orders = world.topics.require("orders")
    assert orders.configs == {"cleanup.policy": "compact", "retention.ms": "-1", "preallocate": "true"}
    assert [(at, each.key, each.value) for at, each in world.records("orders")] == [(1, b"a", b'{"n":1}'), (1, b"a", None)]
    assert [each.value for _, each in world.records("made")] == [b"v"]
    group = world.cluster.groups.find("g")
    assert group is not None and [(at, each.offset, each.metadata) for at, each in group.offsets.items()] == [(("orders", 1), 2, "m")]
    assert world.topics.config(world.topics.require("made"), "max.message.bytes", 1) == "2000"


def test_lines_are_done_in_their_order() -> None:
    """A record before the line with the size limit is accepted, and one after it is refused."""
    world = DataWorld()
    large = json.dumps({"topic": "t", "value": "x" * 3000})
    limit = '{"node": 0, "configs": {"message.max.bytes": 2000}}'
    with pytest.raises(BadSeedData, match=r"f: line 4: t-0: MESSAGE_TOO_LARGE: .*\(0 topics, 2 records, 0 commits were done before it\)"):
        seed_data_of("\n".join([large, large, limit, large]).encode(), "f").apply(world.running)


WRONG: dict[str, tuple[str, str]] = {
    "nothing known": (
        '{"topics": 1}',
        "line 1: Object contains unknown field `topics` (did you mean topic? it takes: [topic], [part",
    ),
    "a topic with more": ('{"topic": "t", "offset": 1}', "unknown field `offset` (it takes: topic, [partitions], [replication_factor]"),
    "no name": ('{"topic": ""}', "line 1: Expected `str` of length >= 1 - at `$.topic` (topic: its name)"),
    "there already": ('{"topic": "t"}\n{"topic": "t"}', "line 2: topic: 't' is there already: leave the line out, or choose another"),
    "a record of nothing": ('{"value": 1}', 'line 1: topic: a record needs one: {"topic": "orders", "value": ...}'),
    "beyond the partitions": (
        '{"topic": "t"}\n{"topic": "t", "value": 1, "partition": 1}',
        'line 2: partition: 1: topic \'t\' has 0 to 0: write a line {"topic": "t", "partitions": N} before it with more',
    ),
    "a commit of nothing": (
        '{"group": "g", "topic": "t", "partition": 0, "offset": 1}',
        'line 1: topic: no topic \'t\': write a line {"topic": "t", "partitions": N} before it',
    ),
    "half a commit": (
        '{"group": "g", "topic": "t"}',
        "line 1: Object missing required field `partition` (it takes: group, topic, part",
    ),
    "a key that is none": ('{"topic": "t", "key": 1, "key_as": "text"}', "line 1: key: a string is wanted, as text"),
    "a config that is none": (
        '{"topic": "t", "configs": {"nope": 1}}',
        "line 1: Unknown topic config name: nope: `groupmock topic",
    ),
    "a node that is none": ('{"node": 7, "configs": {"message.max.bytes": 1}}', "line 1: no node 7: there is node 1 only"),
}


@for_each(("text", "wanted"), WRONG.values(), ids=WRONG)
def test_a_wrong_line_is_named_before_anything_is_done(text: str, wanted: str, tmp_path: Path) -> None:
    file, world = tmp_path / "seed.jsonl", DataWorld()
    file.write_text(text)
    with pytest.raises(BadSeedData) as wrong:
        read_seed_data(file).apply(world.running)
    assert str(wrong.value).startswith(f"{file}: line ") and wanted in str(wrong.value)
    assert (world.topics.names(), list(world.cluster.groups.all())) == ([], [])


def test_a_topic_that_may_not_be_made_by_a_record() -> None:
    world = DataWorld(auto_create_topics_enable=False)
    with pytest.raises(BadSeedData, match="line 1: topic: no topic 't'"):
        seed_data_of(b'{"topic": "t", "value": 1}', "f").apply(world.running)


def test_a_file_that_is_not_there_and_one_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadSeedData, match=r"cannot read the seed data .*: No such file or directory"):
        read_seed_data(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(BadSeedData, match="line 1: not JSON, one record a line"):
        read_seed_data(tmp_path / "binary")


LINES: list[dict[str, Any]] = [
    {"topic": "orders", "partitions": 2},
    {"topic": "orders", "key": b"\xff", "value": b"\0", "headers": [("h", b"\1")], "partition": 1},
    {"group": "g", "topic": "orders", "partition": 1, "offset": 0},
]


def test_a_broker_has_it_from_the_start_and_after_a_reset_and_replays(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with Broker(seed_data=LINES, journal=str(journal)) as broker:
        for _ in range(2):
            (record,) = broker.records("orders")
            assert (record.partition, record.key, record.value, record.headers) == (1, b"\xff", b"\0", [("h", b"\1")])
            assert broker.lag("g").lag == 1
            broker.commit_offsets("g", {"orders": {1: 1}})
            broker.configure_topic("orders", {"retention.ms": 5})
            assert broker.lag("g").lag == 0
            broker.clear()
    result = replay(journal)
    assert (result.difference, result.rows > 3) == (None, True)


async def test_the_twin_has_the_same_words() -> None:
    async with Broker(seed_data=LINES) as broker:
        assert (await broker.lag("g")).lag == 1
        (written,) = await broker.write_records("orders", '{"value": "v", "partition": 0}')
        assert (written.partition, written.first_offset, written.records) == (0, 0, 1)
        (moved,) = await broker.reset_offsets("g", to="latest")
        assert (moved.topic, moved.partition, moved.before, moved.after) == ("orders", 1, 0, 1)
        assert (await broker.topics)["orders"].partitions[1].end_offset == 1
        assert (await broker.configs("orders"))["cleanup.policy"].value == "delete"
        assert (await broker.seed_data([{"topic": "more"}])).topics == 1
        await broker.configure_node(0, {"message.max.bytes": 2000})
        assert (await broker.node_configs(0))["message.max.bytes"].source == "all nodes"
