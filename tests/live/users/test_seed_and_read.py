"""aiokafka reads seeded records, and `records read` shows what aiokafka wrote, with each compression."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiokafka
import pytest
from aiokafka.structs import TopicPartition

from groupmock import Broker

PATIENCE = 60
SEED = (
    {"topic": "orders", "partitions": 3},
    {"topic": "orders", "key": "a", "value": {"n": 1}, "headers": {"h": "x"}, "timestamp": 1000},
    {"topic": "orders", "key": b"\xff\x00", "value": b"\x00\xfe"},
    {"topic": "orders", "key": "gone", "value": None},
    {"topic": "orders", "value": "no key"},
    {"group": "kitchen", "topic": "orders", "partition": 0, "offset": 0},
)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(seed_data=SEED, control=0) as found:
        yield found


def verb(broker: Broker, *words: str, stdin: str | None = None) -> tuple[int, str, str]:
    """Run a CLI verb against the broker."""
    done = subprocess.run(
        [sys.executable, "-m", "groupmock", *words, "--control", str(broker.control)],
        input=stdin, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


async def read_all(broker: Broker, topic: str, **how: Any) -> list[Any]:
    """Read the topic as a consumer without a group until all its records have arrived."""
    wanted = len(broker.records(topic))
    found: list[Any] = []
    async with aiokafka.AIOKafkaConsumer(topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", **how) as consumer:
        while len(found) < wanted:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                found += records
    return found


async def test_aiokafka_reads_what_was_seeded(broker: Broker) -> None:
    async with asyncio.timeout(PATIENCE):
        found = {record.key: record for record in await read_all(broker, "orders")}
    assert {key: record.value for key, record in found.items()} == {
        b"a": b'{"n":1}', b"\xff\x00": b"\x00\xfe", b"gone": None, None: b"no key",
    }  # fmt: skip
    assert (found[b"a"].headers, found[b"a"].timestamp) == ((("h", b"x"),), 1000)


async def test_aiokafka_goes_on_where_a_reset_put_the_group(broker: Broker) -> None:
    where = {record.key: (record.partition, record.offset) for record in broker.records("orders")}
    broker.reset_offsets("kitchen", "orders", to="latest")
    partition, offset = where[b"a"]
    broker.reset_offsets("kitchen", "orders", [partition], offset=offset)
    consumer = aiokafka.AIOKafkaConsumer(
        "orders", bootstrap_servers=broker.bootstrap, group_id="kitchen", client_id="chef", enable_auto_commit=False
    )
    async with asyncio.timeout(PATIENCE):
        await consumer.start()
        first = await consumer.getone()
        await consumer.commit({TopicPartition("orders", first.partition): first.offset + 1})
        held = broker.lag("kitchen")
        await consumer.stop()
    assert (first.partition, first.offset, first.key) == (partition, offset, b"a")
    row = next(row for row in held.partitions if row.partition == partition)
    assert (row.committed, bool(row.member_id), row.client_id) == (offset + 1, True, "chef")


@pytest.mark.parametrize("compression", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_records_read_shows_what_aiokafka_wrote(compression: Any) -> None:
    with Broker(topics={"t": 2}, control=0) as broker:
        async with asyncio.timeout(PATIENCE):
            async with aiokafka.AIOKafkaProducer(
                bootstrap_servers=broker.bootstrap, compression_type=compression, linger_ms=50, enable_idempotence=True
            ) as producer:
                sent = [await producer.send("t", b"v" * 50 + b"%d" % number, key=b"\xff%d" % number, partition=number % 2,
                                            headers=[("h", b"\x00")], timestamp_ms=1000 + number) for number in range(200)]  # fmt: skip
                await asyncio.gather(*sent)
        code, out, err = await asyncio.to_thread(verb, broker, "records", "read", "t")
        assert (code, err) == (0, "")
        rows = [json.loads(line) for line in out.splitlines()]
        assert sorted(row["value"] for row in rows) == sorted("v" * 50 + str(number) for number in range(200))
        assert {row["key_as"] for row in rows} == {"base64"}
        assert all(row["headers"] == [{"key": "h", "value": "\x00"}] for row in rows)
        assert [row["offset"] for row in rows if row["partition"] == 1] == list(range(100))


def test_a_file_larger_than_one_request_goes_over_the_command_line_and_back(broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(json.dumps({"key": f"k{number}", "value": "x" * 1000, "partition": number % 3}) for number in range(9000)))
    broker.create_topic("many", 3)
    code, out, err = verb(broker, "records", "write", "many", str(file))
    assert (code, err, json.loads(out)["records"]) == (0, "", 9000)
    code, out, err = verb(broker, "records", "read", "many")
    assert (code, err, out.count("\n")) == (0, "", 9000)
    broker.create_topic("copy", 3)
    assert verb(broker, "records", "write", "copy", "-", stdin=out)[0] == 0
    assert [(each.partition, each.offset, each.key, each.value) for each in broker.records("copy")] == [
        (each.partition, each.offset, each.key, each.value) for each in broker.records("many")
    ]


def test_a_wrong_line_of_a_large_file_is_found_before_anything_is_sent(broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join([*(json.dumps({"value": "x" * 1000}) for _ in range(9000)), '{"vlaue": 1}']))
    broker.create_topic("many")
    code, _, err = verb(broker, "records", "write", "many", str(file))
    assert (code, broker.records("many")) == (2, [])
    assert err.startswith("groupmock records write: line 9001: Object contains unknown field `vlaue` (did you mean value?")
