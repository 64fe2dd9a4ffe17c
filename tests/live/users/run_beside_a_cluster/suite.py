"""The tests of both services, for `groupmock run --control 0 --topic orders:4 --topic orders.dead:1 -- python -m pytest suite.py`.

The services are processes; the suite steers and observes their group over HTTP (docs/reference/control.md).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

CONTROL = os.environ["GROUPMOCK_CONTROL_URL"]
SERVICES = ["kitchen_kafka_python.py", "kitchen_confluent.py"]


def ask(method: str, path: str, body: Any = None, **query: Any) -> Any:
    """Send one request to the control API and return its response."""
    url = f"{CONTROL}/v1{path}" + (f"?{urlencode(query)}" if query else "")
    data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, method=method), timeout=60) as answer:
            return json.load(answer)
    except HTTPError as refused:
        pytest.fail(f"{method} {path}: {refused.code} {refused.read().decode()}")


def reached(**wanted: Any) -> Any:
    """Wait until the group has this state and return it."""
    return ask("GET", "/groups/kitchen/wait", timeout=20, **wanted)


def write(*values: str | None, partition: int = 0) -> None:
    """Write records into one partition."""
    ask("POST", "/topics/orders/records", "\n".join(json.dumps({"value": value, "partition": partition}) for value in values))


def order(name: str) -> str:
    """Return the JSON value of a record with this order."""
    return json.dumps({"id": name})


class House:
    """Starts the processes of one service and reads their file of receipts."""

    def __init__(self, script: str, folder: Path) -> None:
        self._script = script
        self._receipts = folder / "receipts"
        self._receipts.touch()
        self.oven = folder / "oven"
        self._running: list[subprocess.Popen[bytes]] = []

    def open(self, name: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start one more instance of the service."""
        variables = os.environ | {"KITCHEN_RECEIPTS": str(self._receipts)} | environment
        self._running.append(subprocess.Popen([sys.executable, self._script, name], env=variables))
        return self._running[-1]

    def lines(self) -> list[str]:
        """Return the lines that the instances have written."""
        return self._receipts.read_text().splitlines()

    def noted(self, line: str) -> None:
        """Wait until an instance has written the line."""
        end = time.monotonic() + 20
        while line not in self.lines():
            assert time.monotonic() < end, f"{line!r} is not among {self.lines()}"
            time.sleep(0.02)

    def close(self) -> None:
        self.oven.touch()
        for process in self._running:
            process.send_signal(signal.SIGTERM)
        for process in self._running:
            process.wait(20)


@pytest.fixture(params=SERVICES)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    ask("POST", "/reset")
    house = House(request.param, tmp_path)
    yield house
    house.close()


def test_orders_are_served_and_committed(house: House) -> None:
    write(order("a"), order("b"), partition=3)
    house.open("anna")
    reached(state="Stable", members=1, lag=0, offsets="orders/3=2")
    assert house.lines() == ["anna cooks a", "anna served a", "anna cooks b", "anna served b"]


def test_a_second_instance_takes_its_share(house: House) -> None:
    house.open("anna")
    reached(state="Stable", members=1, assignment="orders")
    house.open("ben")
    group = reached(state="Stable", members=2, assignment="orders")
    assert sorted(len(member["assignment"]["orders"]) for member in group["members"]) == [2, 2]
    for partition in range(4):
        write(order(f"p{partition}"), partition=partition)
    reached(lag=0, offsets="orders/0=1,orders/1=1,orders/2=1,orders/3=1")
    assert sorted(line.partition(" ")[2] for line in house.lines() if "served" in line) == [f"served p{number}" for number in range(4)]


def test_what_a_crashed_instance_had_not_committed_is_served_again(house: House) -> None:
    write(order("a"))
    process = house.open("anna", KITCHEN_OVEN=str(house.oven))
    house.noted("anna cooks a")
    process.kill()
    ask("POST", "/groups/kitchen/expire", {"member": "anna"})
    house.open("ben")
    reached(state="Stable", members=1, member="ben", lag=0, offsets="orders/0=1")
    assert house.lines() == ["anna cooks a", "ben cooks a", "ben served a"]


def test_a_commit_for_a_generation_that_is_over_is_refused_and_survived(house: House) -> None:
    write(order("a"))
    house.open("anna", KITCHEN_OVEN=str(house.oven))
    house.noted("anna cooks a")
    ask("POST", "/faults", {"when": {"api": "OffsetCommit"}, "do": {"kind": "set_generation"}, "times": 1, "name": "stale"})
    house.oven.touch()
    ask("GET", "/faults/stale/wait", hits=1, timeout=20)
    house.noted("anna refused 0/0")
    reached(state="Stable", members=1, lag=0, offsets="orders/0=1")
    assert house.lines().count("anna served a") == 2


def test_who_polls_too_slowly_loses_its_partitions_to_another(house: House) -> None:
    write(order("a"))
    house.open("anna", KITCHEN_OVEN=str(house.oven), KITCHEN_POLL_MS="1000")
    house.noted("anna cooks a")
    reached(state="Empty")
    house.open("ben")
    reached(state="Stable", member="ben", lag=0, offsets="orders/0=1")
    house.oven.touch()
    house.noted("anna refused 0/0")
    reached(state="Stable", members=2, assignment="orders")


def test_after_a_restart_it_goes_on_where_it_was(house: House) -> None:
    write(order("a"))
    process = house.open("anna")
    reached(lag=0, offsets="orders/0=1")
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    reached(state="Empty")
    write(order("b"))
    house.open("anna")
    reached(state="Stable", members=1, lag=0, offsets="orders/0=2")
    assert house.lines() == ["anna cooks a", "anna served a", "anna cooks b", "anna served b"]


def test_a_poison_record_is_put_aside_and_the_partition_goes_on(house: House) -> None:
    write(order("a"), "no order at all", None, order("b"), partition=2)
    house.open("anna")
    reached(lag=0, offsets="orders/2=4")
    aside = ask("GET", "/topics/orders.dead/records")
    assert [record.get("value") for record in aside["records"]] == ["no order at all", ""]
    assert house.lines() == ["anna cooks a", "anna served a", "anna cooks b", "anna served b"]
