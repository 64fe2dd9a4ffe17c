"""The sample consumers and the sample producer of the compose file run as processes without containers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groupmock import Broker

TREE = Path(__file__).resolve().parents[3]
PATIENCE = 60
RECORDS = 10


class Sample:
    """A sample consumer as a process that reads RECORDS records."""

    def __init__(self, name: str, bootstrap: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(TREE / "docker/samples" / f"{name}.py")],
            env=os.environ | {"KAFKA_BOOTSTRAP": bootstrap, "MESSAGES": str(RECORDS), "ROUNDS": "1", "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def outcome(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out


@pytest.fixture
def samples() -> Iterator[Callable[[str, str], Sample]]:
    started: list[Sample] = []

    def start(name: str, bootstrap: str) -> Sample:
        started.append(Sample(name, bootstrap))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


def test_the_two_sample_consumers_share_a_topic_and_leave(samples: Callable[[str, str], Sample]) -> None:
    """The two libraries share six partitions with ten records each."""
    with Broker(topics={"orders": 12}) as broker:
        consumers = [samples(name, broker.bootstrap) for name in ("aiokafka_consumer", "kafka_python_consumer")]
        broker.wait_for("readers", state="Stable", members=2, timeout=PATIENCE)
        for number in range(RECORDS):
            for partition in range(12):
                broker.produce("orders", f"order {number}".encode(), partition=partition)
        for consumer in consumers:
            code, out = consumer.outcome()
            assert code == 0, out
            assert out.count(" read orders-") == RECORDS, out
            assert out.rstrip().endswith(" left"), out
        broker.wait_for("readers", state="Empty", timeout=PATIENCE)


def test_the_sample_producer_writes_to_every_partition(samples: Callable[[str, str], Sample]) -> None:
    with Broker(topics={"orders": 12}) as broker:
        code, out = samples("producer", broker.bootstrap).outcome()
        assert code == 0, out
        assert sorted(record.partition for record in broker.records("orders")) == list(range(12))
