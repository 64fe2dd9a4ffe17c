"""Stock share consumers see the same on Apache Kafka 4.4.0 and on groupmock: deliveries with their counts, accepted, released and rejected
records, the end of a lock, a late acknowledgement, a crash, and the implicit mode."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from tests.interop.judges import building

from groupmock import Broker
from groupmock.rig.wire import Client
from groupmock_codec.messages import k19_create_topics as k19
from groupmock_codec.messages import k44_incremental_alter_configs as k44
from tools.oracle import NoOracle, classpath, kafka

SHARE: Final = Path(__file__).resolve().parents[2] / "interop/share"
VERSION: Final = "4.4.0"
LOCK_S: Final = 15
"""The shortest record lock that Kafka allows."""
SETTINGS: Final = {"group.share.record.lock.duration.ms": LOCK_S * 1000, "group.share.assignment.interval.ms": 0}
OF_GROUPS: Final = 32
ACCEPTED: Final = ["committed", [None]]
EXPLICIT: Final = [
    ["got", [[offset, 1] for offset in range(10)]], ACCEPTED, ["got", [[3, 2], [9, 2]]], ACCEPTED, ["holding"], ["got", [[9, 3]]],
    ["committed", ["INVALID_RECORD_STATE"]], ACCEPTED,
]  # fmt: skip
Waits = Callable[[], None]


def command(client: str) -> list[str]:
    if client == "confluent-kafka":
        return [sys.executable, str(SHARE / "share_worker.py")]
    if client == "franz-go":
        worker = building.Program("share-franz-go", "share/franz-go", ("go",), building.go)
        if worker.missing():
            pytest.skip("go is not on the PATH")
        return [str(building.built(worker) / "driver")]
    try:
        return ["java", "-cp", classpath(VERSION), str(SHARE / "ShareWorker.java")]
    except NoOracle as lacking:
        pytest.skip(str(lacking))


class Cluster:
    """A cluster with topics of one partition, and what to do when a worker waits for the end of a lock."""

    def __init__(self, bootstrap: str, lock_ends: Waits) -> None:
        self.bootstrap, self.lock_ends = bootstrap, lock_ends

    def fresh(self, count: int) -> tuple[str, str]:
        """Create a topic with so many records, each in its own batch, and configure a group that begins at its start."""
        topic, group = f"t-{uuid.uuid4().hex[:8]}", f"g-{uuid.uuid4().hex[:8]}"
        client = Client(*_split(self.bootstrap))
        wish = k19.CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
        made = client.ask(19, 5, k19.CreateTopicsRequest(topics=[wish]))
        assert not made.topics[0].error_code, made
        config = k44.AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
        wanted = k44.AlterConfigsResource(resource_type=OF_GROUPS, resource_name=group, configs=[config])
        altered = client.ask(44, 1, k44.IncrementalAlterConfigsRequest(resources=[wanted]))
        assert not altered.responses[0].error_code, altered
        client.socket.close()
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for _ in range(count):
            producer.produce(topic, b"x")
            producer.flush()
        return topic, group

    def work(self, client: str, topic: str, group: str, how: str, count: int, killed: bool = False) -> list[Any]:
        """Run a worker, and return what it prints. A worker that is `killed` has printed one line."""
        words = [*command(client), self.bootstrap, group, topic, how, str(count)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                assert process.stdout is not None
                said = []
                for line in process.stdout:
                    said.append(json.loads(line))
                    if said[-1] == ["holding"]:
                        self.lock_ends()
                    if killed:
                        break
            finally:
                process.kill()
        return said


def _split(bootstrap: str) -> tuple[str, int]:
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    return host, int(port)


@pytest.fixture(scope="module", params=["groupmock", f"Kafka {VERSION}"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with contextlib.ExitStack() as stack:
        if request.param == "groupmock":
            broker = stack.enter_context(Broker(profile="kafka-4.4", settings=SETTINGS, audit=True))
            yield Cluster(broker.bootstrap, lambda: broker.step(LOCK_S))
            judged = ("CLIENT-51", "CLIENT-97", "CLIENT-98", "CLIENT-99")
            wrong = {str(finding) for finding in broker.audit().findings if finding.rule in judged}
            assert wrong == set()
        else:
            yield Cluster(stack.enter_context(kafka(VERSION, SETTINGS)), lambda: None)


CLIENTS = pytest.mark.parametrize("client", ["confluent-kafka", "Java", "franz-go"])


@CLIENTS
def test_a_worker_accepts_releases_rejects_and_loses_a_lock_as_on_kafka(cluster: Cluster, client: str) -> None:
    topic, group = cluster.fresh(10)
    assert cluster.work(client, topic, group, "explicit", 10) == EXPLICIT


@CLIENTS
def test_records_of_a_killed_worker_come_again_as_on_kafka(cluster: Cluster, client: str) -> None:
    topic, group = cluster.fresh(3)
    assert cluster.work(client, topic, group, "crash", 3, killed=True) == [["got", [[0, 1], [1, 1], [2, 1]]]]
    assert cluster.work(client, topic, group, "after", 3) == [["got", [[0, 2], [1, 2], [2, 2]]], ACCEPTED]


@CLIENTS
def test_the_implicit_mode_accepts_with_the_next_poll_as_on_kafka(cluster: Cluster, client: str) -> None:
    topic, group = cluster.fresh(3)
    assert cluster.work(client, topic, group, "implicit", 3) == [["got", [[0, 1], [1, 1], [2, 1]]], ["second", []]]
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce(topic, b"x")
    producer.flush()
    assert cluster.work(client, topic, group, "after", 1) == [["got", [[3, 1]]], ACCEPTED]
