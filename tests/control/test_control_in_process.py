"""A `Broker` and its control API act on the same cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.request import Request, urlopen

import pytest
from aiokafka.partitioner import DefaultPartitioner

from groupmock import Broker
from groupmock.server.running import CannotStart


def ask(broker: Broker, method: str, path: str, body: object = None, lines: Iterable[object] = ()) -> Any:
    assert broker.control is not None
    data = "\n".join(json.dumps(each) for each in (lines or ([] if body is None else [body]))).encode() or None
    with urlopen(Request(broker.control + path, data=data, method=method)) as answer:
        return json.loads(answer.read())


def test_what_one_hand_does_the_other_sees() -> None:
    with Broker(topics={"orders": 1}, control=0) as broker:
        broker.add_fault({"api": "Heartbeat"}, "drop", name="mine")
        assert [rule["name"] for rule in ask(broker, "GET", "/v1/faults")] == ["mine"]
        ask(broker, "POST", "/v1/nodes/1/stall", {})
        broker.start_node(1)
        assert ask(broker, "GET", "/v1/health")["nodes"][0]["state"] == "running"


def test_a_key_goes_where_kafkas_producers_send_it_by_every_door() -> None:
    keys = [f"k{number}" for number in range(12)]
    choose, every = DefaultPartitioner(), list(range(6))
    wanted = {key.encode(): choose(key.encode(), every, every) for key in keys}
    with Broker(topics=dict.fromkeys(("produced", "written", "posted", "seeded"), len(every)), control=0) as broker:
        for key in keys:
            broker.produce("produced", "v", key=key)
        lines = [{"key": key, "value": "v"} for key in keys]
        broker.write_records("written", lines)
        ask(broker, "POST", "/v1/topics/posted/records", lines=lines)
        broker.seed_data([{"topic": "seeded", **line} for line in lines])
        for topic in broker.topics:
            assert {record.key: record.partition for record in broker.records(topic)} == wanted, topic
        broker.produce("produced", "without a key")
        assert broker.records("produced", 0)[-1].value == b"without a key"


@pytest.mark.parametrize("by", ["reset", "clear"])
def test_reset_restores_the_plan_of_the_broker(by: str) -> None:
    """The reset restores the fault plan that was given as text."""
    plan = '[[rule]]\nname = "mine"\nwhen = { api = "Heartbeat" }\ndo = { kind = "drop" }\n'
    with Broker(topics={"orders": 1}, control=0, plan=plan) as broker:
        before = broker.bootstrap, broker.control
        broker.create_topic("more", 1)
        broker.remove_fault("mine")
        if by == "reset":
            ask(broker, "POST", "/v1/reset")
        else:
            broker.clear()
        assert (broker.bootstrap, broker.control) == before
        broker.create_topic("more", 1)
        assert [report.name for report in broker.faults] == ["mine"]


def test_without_it_there_is_no_url() -> None:
    with Broker() as broker:
        assert broker.control is None


def test_a_taken_port_leaves_nothing_behind() -> None:
    with Broker(control=0) as first:
        port = int((first.control or "").rsplit(":", 1)[1])
        with pytest.raises(CannotStart, match="cannot serve the control API"):
            Broker(control=port).start()
