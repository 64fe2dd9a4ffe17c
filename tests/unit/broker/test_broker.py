"""The in-process `Broker` works as its documentation for users says."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import pytest
from cases import for_each

import groupmock
from groupmock import Broker, FaultNotSeen, GroupTimeout
from groupmock.config.resolve import ConfigError
from groupmock.core.steering import CannotSteer
from groupmock.data.log_record import Record
from groupmock.journal.read import read
from groupmock.rig import wire
from groupmock.server.running import CannotStart
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest

TOPICS: list[Any] = [{"orders": 3}, ["orders:3"], "orders:3", (each for each in ["orders:3"])]


@for_each("topics", TOPICS, ids=str)
def test_topics_in_any_shape(topics: Any) -> None:
    assert [(each.name, each.partitions) for each in Broker(topics=topics)._config.topics] == [("orders", 3)]


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


def test_headers_and_configs_as_mappings() -> None:
    with Broker() as broker:
        broker.create_topic("orders", configs={"retention.ms": 5, "preallocate": True})
        assert broker.topics["orders"].configs == {"retention.ms": "5", "preallocate": "true"}
        broker.produce("orders", b"v", headers={"h": "x"})
        assert broker.records("orders")[0].headers == [("h", b"x")]


MISSHAPEN: dict[str, tuple[Callable[[Any], object], str]] = {
    "configs": (lambda broker: broker.create_topic("t", configs=["a=b"]), "configs are a mapping: {\"retention.ms\": 5}, not ['a=b']"),
    "set": (lambda broker: broker.configure_topic("orders", set=["a=b"]), "configs are a mapping"),
    "offsets": (lambda broker: broker.commit_offsets("g", {"orders": [1]}), "offsets: {\"orders\": {0: 17}}, not {'orders': [1]}"),
    "offsets waited for": (lambda broker: broker.wait_for("g", offsets=["orders/0"]), "offsets: {\"orders/0\": 17}, not ['orders/0']"),
    "lines": (lambda broker: broker.write_records("orders", {"value": 1}), "line 1: several lines are wanted, each a mapping: [{...}]"),
    "isolation": (lambda broker: broker.records("orders", isolation="none"), "isolation is read_uncommitted or read_committed, not 'none'"),
}


@for_each(("asks", "text"), MISSHAPEN.values(), ids=MISSHAPEN)
def test_what_is_asked_in_a_wrong_shape_is_refused_in_one_sentence(asks: Callable[[Broker], object], text: str) -> None:
    with Broker(topics="orders") as broker, pytest.raises(ValueError) as refused:
        asks(broker)
    assert text in str(refused.value)


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
        ({"num_partition": 3}, "Broker(num_partition=...): no such argument: did you mean num_partitions?"),
        ({"topic": "orders"}, "Broker(topic=...): no such argument: did you mean topics?"),
        ({"num_partitions": 0}, "Broker(settings=...) num.partitions: num.partitions takes 1 to"),
        ({"settings": {"nope": 1}}, "Broker(settings=...) nope: no setting 'nope'"),
        ({"settings": {"group.max.sise": 1}}, "did you mean group.max.size"),
        ({"settings": ["group.max.size=3"]}, "Broker(settings=...): Kafka's names with their values, "),
        ({"settings": {7: 1}}, "no setting '7'"),
        ({"profile": "nope"}, "Broker(profile=...): no profile 'nope'"),
        ({"topics": {"a b": 1}}, "Broker(topics=...): 'a b' is no topic name"),
        ({"topics": {"orders": "many"}}, "Broker(topics=...) orders:many: 'many' is not a whole number from 1 to 10000"),
        ({"topics": {"orders": None}}, "Broker(topics=...) orders:None: 'None' is not a whole number from 1"),
        ({"topics": {"orders": True}}, "'True' is not a whole number from 1"),
        ({"topics": 12}, "Broker(topics=...): 12 is no topic: write 'orders', 'orders:12', a list of these, or {'orders': 12}"),
        ({"topics": [("orders", 12)]}, "Broker(topics=...): ('orders', 12) is no topic"),
        ({"topics": b"orders"}, "Broker(topics=...): 111 is no topic"),
        ({"nodes": "three"}, "Broker(nodes=...): 'three' is not a whole number from 1 to 64"),
        ({"port": "http"}, "Broker(port=...): 'http' is not a whole number from 0"),
        ({"port": True}, "Broker(port=...): True is not a whole number from 0"),
        ({"control": False}, "Broker(control=...): 'False' is not a whole number from 0"),
        ({"nodes": 2, "racks": "ab"}, "Broker(racks=...): 'ab' does not name a rack for each of 2 node(s)"),
        ({"racks": 3, "nodes": 2}, "Broker(racks=...): 3 does not name a rack for each of 2 node(s)"),
        ({"seed": "x"}, "Broker(seed=...): 'x' is not a whole number"),
        ({"log": True}, "Broker(log=...): True is not one of text, json"),
        ({"journal": 3}, "Broker(journal=...): 3 is no path of a file"),
        ({"audit": True, "audit_waivers": 3}, "Broker(audit_waivers=...): 3 is no path of a file"),
        ({"plan": 3}, "a plan is a file, the name of a ready plan, TOML text, or the same as data, not 3"),
        ({"seed_data": 3}, "seed_data: a file, or its lines as mappings, not 3"),
        ({"seed_data": {"topic": "orders"}}, "seed_data: a file, or its lines as mappings, not {'topic': 'orders'}"),
        ({"seed_data": ["orders"]}, "seed_data: line 1: 'orders' is no mapping of a line's fields"),
    ],
)
def test_an_argument_of_a_wrong_shape_is_named_in_one_sentence(keywords: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError) as refused:
        Broker(**keywords)  # type: ignore[arg-type]  # wrong on purpose
    assert text in str(refused.value) and "\n" not in str(refused.value)


def test_a_broker_obeys_the_environment_that_it_is_given_where_an_argument_is_silent() -> None:
    variables = {"GROUPMOCK_SEED": "7", "GROUPMOCK_NODES": "2", "GROUPMOCK_TOPIC": "a,b:3", "GROUPMOCK_SET_GROUP_MAX_SIZE": "4"}
    config = Broker(nodes=1, environment=variables)._config
    assert (config.seed, config.nodes, [each.name for each in config.topics], config.settings.group_max_size) == (7, 1, ["a", "b"], 4)
    assert (config.port, config.log) == (0, "off")
    with pytest.raises(ConfigError, match="environment GROUPMOCK_SEED: 'x' is not a whole number"):
        Broker(environment={"GROUPMOCK_SEED": "x"})
    assert Broker(audit=False, environment={"GROUPMOCK_AUDIT": "true"})._config.audit is False


def test_taken_port_is_said_on_the_callers_thread() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        with pytest.raises(CannotStart, match="cannot listen on"):
            Broker(port=held.getsockname()[1]).start()


@for_each("host", ["127.0.0.1", "0.0.0.0"])
def test_bootstrap_is_reachable_whatever_address_is_advertised(host: str) -> None:
    with Broker(host=host, nodes=2, advertise="kafka.example:1") as broker:
        assert broker.advertised == "kafka.example:1,kafka.example:2"
        for address in broker.bootstrap.split(","):
            name, port = address.split(":")
            with wire.Client(name, int(port)) as client:
                told = client.ask(3, 9, MetadataRequest())
            assert [(each.host, each.port) for each in told.brokers] == [("kafka.example", 1), ("kafka.example", 2)]
    with Broker() as plain:
        assert plain.advertised == plain.bootstrap


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
    assert caught.value.__context__ is None, "a report would show it first"


def test_requests_are_found_by_api_group_and_client() -> None:
    with Broker(topics="orders") as broker:
        host, port = broker.bootstrap.split(":")
        with wire.Client(host, int(port), client_id="anna") as anna, wire.Client(host, int(port), client_id="ben") as ben:
            anna.ask(3, 9, MetadataRequest())
            ben.ask(9, 5, OffsetFetchRequest(group_id="kitchen"))
            ben.ask(9, 5, OffsetFetchRequest(group_id="bar"))
        assert [each.client_id for each in broker.requests()] == ["anna", "ben", "ben"]
        (asked,) = broker.requests(api="OffsetFetch", group="kitchen", client_id="ben")
        assert (asked.api_version, asked.message.group_id) == (5, "kitchen")
        assert broker.requests("Metadata", "kitchen") == []
        with pytest.raises(ValueError, match=r"no API 'OffsetFetsch' \(did you mean OffsetFetch\?\)"):
            broker.requests("OffsetFetsch")


@for_each("wait", ["wait_for", "wait_for_fault", "wait"])
def test_a_wait_that_blocks_a_running_loop_warns_and_its_error_names_that(wait: str) -> None:
    """The warning names the line that waits, and a thread without an event loop gets no warning."""
    with Broker() as broker:
        rule = broker.fault({"api": "Heartbeat"}, "drop", must_fire=False)

        async def main() -> None:
            with pytest.warns(RuntimeWarning, match=rf"^{wait}\(...\) blocks the event loop") as warned, rule:
                calls = {
                    "wait_for": lambda: broker.wait_for("kitchen", state="Stable", timeout=0),
                    "wait_for_fault": lambda: broker.wait_for_fault(rule.name, timeout=0),
                    "wait": lambda: rule.wait(timeout=0),
                }
                with pytest.raises((GroupTimeout, FaultNotSeen), match=rf"\nlikely cause: {wait}\(...\) blocked the event loop"):
                    calls[wait]()
            assert [each.filename for each in warned] == [__file__]

        asyncio.run(main())
        with pytest.raises(GroupTimeout) as plain:
            broker.wait_for("kitchen", state="Stable", timeout=0)
        assert "likely cause" not in str(plain.value)


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
    """`make types` checks the assertions statically, and this test checks them at run time."""
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
