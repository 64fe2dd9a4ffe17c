"""The in-process Broker: what a test holds in its hands."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import assert_type

import pytest
from cases import for_each

import groupmock
from groupmock import Broker, GroupTimeout
from groupmock.config import ConfigError
from groupmock.core.steering import CannotSteer
from groupmock.journal.read import read
from groupmock.running import CannotStart
from groupmock.views import Record


def test_topics_by_name_and_by_text() -> None:
    with Broker(topics={"orders": 3}) as broker, Broker(topics=["orders:3"]) as other:
        for each in (broker, other):
            assert each.produce("orders", b"v", partition=2) == 0


def test_records_come_by_partition_and_offset() -> None:
    with Broker(topics={"orders": 2}) as broker:
        offsets = [broker.produce("orders", value, partition=partition) for value, partition in ((b"a", 1), (b"b", 0), (b"c", 1))]
        assert offsets == [0, 0, 1]
        assert [(record.partition, record.offset, record.value) for record in broker.records("orders")] == [
            (0, 0, b"b"),
            (1, 0, b"a"),
            (1, 1, b"c"),
        ]
        assert [record.value for record in broker.records("orders", 1)] == [b"a", b"c"]


def test_record_keeps_all_that_was_given() -> None:
    with Broker(topics={"orders": 1}) as broker:
        broker.produce("orders", None, key=b"k", headers=[("h", None), ("h", b"x")], timestamp=1234)
        (record,) = broker.records("orders")
        assert (record.key, record.value, record.timestamp, record.headers) == (b"k", None, 1234, [("h", None), ("h", b"x")])


@for_each(("topic", "partition", "text"), [("nope", None, "no topic 'nope'"), ("orders", 5, "has partitions 0 to 1")])
def test_records_of_what_is_not_there(topic: str, partition: int | None, text: str) -> None:
    with Broker(topics={"orders": 2}) as broker, pytest.raises(LookupError, match=text):
        broker.records(topic, partition)


def test_topic_errors_reach_the_caller() -> None:
    with Broker(topics={"orders": 2}) as broker:
        with pytest.raises(ValueError, match="Topic 'orders' already exists: grow it, delete it first, or choose another name"):
            broker.create_topic("orders", 2)
        with pytest.raises(ValueError, match="no topic 'nope': there are orders"):
            broker.delete_topic("nope")
        with pytest.raises(ValueError, match="1 would not be an increase: name a higher number"):
            broker.grow_topic("orders", 1)
        broker.grow_topic("orders", 4)
        broker.produce("orders", b"v", partition=3)


def test_text_is_written_as_utf_8_and_a_topic_that_lacks_is_made() -> None:
    with Broker(num_partitions=3) as broker:
        assert broker.produce("orders", "ein Kännchen", key="anna", partition=2, headers=[("h", "ü"), ("n", None)]) == 0
        (record,) = broker.records("orders")
        assert (record.key, record.value, record.headers) == (b"anna", "ein Kännchen".encode(), [("h", "ü".encode()), ("n", None)])
        with pytest.raises(CannotSteer, match="no partition 3 of topic 'orders': there are 0 to 2"):
            broker.produce("orders", "more", partition=3)
        with pytest.raises(TypeError, match="keys, values and headers are bytes, text or None, not dict"):
            broker.produce("orders", {"no": "text"})  # type: ignore[arg-type]  # wrong on purpose


def test_no_topic_is_made_where_clients_could_not_make_it() -> None:
    with Broker(auto_create_topics_enable=False) as broker:
        with pytest.raises(CannotSteer, match="no topic 'orders'"):
            broker.produce("orders", "one coffee")
        with pytest.raises(LookupError, match="no topic 'orders'"):
            broker.records("orders")


def test_settings_by_kafka_name_and_by_keyword() -> None:
    with Broker(settings={"num.partitions": 3}) as broker, Broker(num_partitions=3) as other:
        for each in (broker, other):
            assert each.start_settings["num.partitions"] == 3


@for_each(
    ("keywords", "text"),
    [
        ({"num_partition": 3}, "no such setting"),
        ({"num_partitions": 0}, "num.partitions takes 1 to"),
        ({"settings": {"nope": 1}}, "no setting 'nope'"),
        ({"profile": "nope"}, "no profile 'nope'"),
        ({"topics": {"a b": 1}}, "no topic name"),
    ],
)
def test_bad_keywords_are_named(keywords: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Broker(**keywords)  # type: ignore[arg-type]  # wrong on purpose


def test_taken_port_is_said_on_the_callers_thread() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        with pytest.raises(CannotStart, match="cannot listen on"):
            Broker(port=held.getsockname()[1]).start()


def test_using_it_before_the_start_says_so() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        _ = Broker().bootstrap


def test_same_seed_draws_the_same_cluster_id() -> None:
    with Broker(seed=3) as first, Broker(seed=3) as second, Broker(seed=4) as third:
        ids = [each._up().cluster.environment.identity.cluster_id for each in (first, second, third)]
    assert ids[0] == ids[1] != ids[2]


def test_a_run_has_the_name_that_it_was_given_else_its_seed(tmp_path: Path) -> None:
    for run, called in (("orders v2", "orders v2"), (None, "ff")):
        file = tmp_path / f"{called}.jsonl"
        with Broker(seed=255, run=run, journal=str(file)):
            pass
        assert read(file)[0].header.run == called


def test_clear_forgets_everything_but_the_address() -> None:
    with Broker(topics={"orders": 1}) as broker:
        broker.create_topic("more", 1)
        before = broker.bootstrap
        broker.clear()
        assert broker.bootstrap == before
        broker.create_topic("more", 1)


def test_clear_keeps_every_address_of_several_nodes() -> None:
    with Broker(nodes=3) as broker:
        before = broker.bootstrap
        broker.clear()
        assert broker.bootstrap == before


def test_waiting_for_a_group_that_never_comes_says_so() -> None:
    with Broker(seed=9) as broker, pytest.raises(GroupTimeout) as caught:
        broker.wait_for("nobody", state="Stable", timeout=0.05)
    assert "there is no such group (seed 9)" in str(caught.value)


def test_async_with_gives_the_same_names_as_coroutines() -> None:
    async def main() -> None:
        async with Broker(topics={"orders": 1}) as broker:
            await broker.produce("orders", b"v", key=b"k")
            assert [record.key for record in await broker.records("orders")] == [b"k"]
            await broker.create_topic("more", 2)
            await broker.grow_topic("more", 3)
            await broker.delete_topic("more")
            with pytest.raises(GroupTimeout):
                await broker.wait_for("nobody", timeout=0.05)
            assert await broker.groups == {}
            assert await broker.story("nobody") == ""

    asyncio.run(main())


def test_journal_is_written_and_flushed(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with Broker(topics={"orders": 1}, journal=str(file), seed=2):
        pass
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert (rows[0]["seed"], rows[0]["config"]["num.partitions"]) == (2, 1)
    assert [row["kind"] for row in rows[1:]][:1] == ["command"]


def test_what_a_client_says_is_a_row_where_it_was_said(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with Broker(journal=str(file)) as broker:
        broker.client_says("A", "delivered", client="A", offsets=[1, 2])
        broker.create_topic("orders", 1)
        with pytest.raises(TypeError):
            broker.client_says("A", "delivered", offsets=object())
    rows = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    assert [row["kind"] for row in rows][:2] == ["client", "command"]
    assert (rows[0]["client"], rows[0]["what"], rows[0]["fields"]) == ("A", "delivered", {"client": "A", "offsets": [1, 2]})


def test_a_type_checker_is_told_what_each_gives() -> None:
    """`make types` is the judge of the assertions; here they must not be wrong either."""
    with Broker(topics={"orders": 1}) as broker:
        assert_type(broker.create_topic("more"), None)
        assert_type(broker.produce("orders", b"v"), int)
        assert_type(broker.records("orders"), list[Record])
        assert_type(broker.add_fault({"api": "Heartbeat"}, "drop"), str)
        with broker.hold("kitchen", "Empty"), broker.fault({"api": "Heartbeat"}, "drop", must_fire=False) as rule:
            assert_type(rule.fired, int)

    async def main() -> None:
        async with Broker(topics={"orders": 1}) as broker:
            assert_type(await broker.create_topic("more"), None)
            assert_type(await broker.produce("orders", b"v"), int)
            assert_type(await broker.records("orders"), list[Record])
            assert_type(await broker.add_fault({"api": "Heartbeat"}, "drop"), str)
            async with await broker.hold("kitchen", "Empty"), broker.fault({"api": "Heartbeat"}, "drop", must_fire=False) as rule:
                assert_type(await rule.fired, int)
                assert_type(await rule.release(), None)

    asyncio.run(main())


def test_a_coroutine_does_nothing_before_it_is_awaited() -> None:
    async def main() -> None:
        async with Broker() as broker:
            creation = broker.create_topic("late")
            await broker.create_topic("early")
            await creation
            with pytest.raises(CannotSteer, match="there are early, late"):
                await broker.delete_topic("nope")

    asyncio.run(main())


def test_the_package_loads_nothing_before_it_is_asked() -> None:
    ours = "('groupmock', 'groupmock_codec', 'msgspec')"
    look = f"import sys, groupmock; print(sorted(name for name in sys.modules if name.partition('.')[0] in {ours}))"
    told = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
    assert told == "['groupmock', 'groupmock.version']\n"


def test_what_the_package_gives() -> None:
    for name in groupmock.__all__:
        assert getattr(groupmock, name) is not None
    with pytest.raises(AttributeError, match="module 'groupmock' has no attribute 'Brocker'"):
        groupmock.Brocker  # noqa: B018
