"""Kafka Connect on the live stage: its Java implementation of Design II, with one distributed worker per member.

The workers share the tasks of one file sink, one task per partition. A record is delivered when the sink has written it. The tasks read in
a consumer group of their own, which is not measured, and which a worker's death disturbs too.
"""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from groupmock import Broker
from groupmock_codec.group_states import STABLE

from ..play import GROUP, TOPIC, Missed, Protocol, Sizes, Speaks, Unsupported
from .jars import connect_libraries
from .java import STARTING_S, JavaProcess, JavaStage, written
from .stage import LOOK_S

SINK: Final = "sink"
SINK_GROUP: Final = f"connect-{SINK}"
LEAVING_S: Final = 60.0
STRINGS: Final = "org.apache.kafka.connect.storage.StringConverter"


class Worker(JavaProcess):
    """A process of ConnectDistributed, whose client id is the member's name."""

    def __init__(self, member: str, settings: dict[str, str], folder: Path, libraries: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        properties = {**settings, "client.id": member, "listeners": f"http://{self.address}", "rest.advertised.host.name": "127.0.0.1"}
        file = written(folder / f"{member}.properties", properties)
        words = ["org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
        super().__init__(member, folder / f"{member}.log", f"{libraries}/*", words)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Raises Unsupported, because a worker has no topics."""
        raise Unsupported("a Connect worker does not subscribe")

    def leave(self) -> None:
        """Send SIGTERM, so that the worker stops its tasks, which commit, and leaves. Raises Missed if it does not end."""
        self._process.send_signal(signal.SIGTERM)
        self._over(LEAVING_S)

    def put(self, path: str, body: object) -> bool:
        """Make one REST call to the worker. Returns False while the worker does not answer."""
        request = urllib.request.Request(
            f"http://{self.address}{path}", method="PUT", headers={"Content-Type": "application/json"}, data=json.dumps(body).encode()
        )
        try:
            with urllib.request.urlopen(request, timeout=10):
                return True
        except (urllib.error.HTTPError, OSError):
            return False


class ConnectStage(JavaStage):
    """The live stage of Kafka Connect's workers. Raises Unsupported without Java and Maven."""

    def __init__(self, sizes: Sizes, protocol: Protocol, broker: Broker, journal: Path, folder: Path) -> None:
        self._written = folder / "written.txt"
        self._written.touch()
        self._made = False
        super().__init__(sizes, protocol, broker, journal, folder, connect_libraries())
        self._ended = threading.Event()
        self._reading = threading.Thread(target=self._read, name="sink", daemon=True)
        self._reading.start()

    def close(self) -> None:
        super().close()
        self._ended.set()
        self._reading.join()

    def start(self, member: str, speaks: Speaks, topics: Sequence[str]) -> None:
        """Start a new worker process, with the member's name as its client id. The very first one creates the connector too."""
        super().start(member, speaks, topics)
        if not self._made:
            self._make_connector(member)

    def _make_connector(self, member: str) -> None:
        worker = self._living[member]
        assert isinstance(worker, Worker)
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": str(self.sizes.partitions),
            "topics": TOPIC, "file": str(self._written),
        }  # fmt: skip
        end = time.monotonic() + STARTING_S
        while not worker.put(f"/connectors/{SINK}/config", config):
            worker.check()
            if time.monotonic() > end:
                raise Missed(f"worker {member} did not make the connector within {STARTING_S:g} s:\n{worker.tail()}")
            time.sleep(LOOK_S)
        self._made = True

    def _process(self, member: str, speaks: Speaks, topics: Sequence[str]) -> Worker:
        return Worker(member, self._settings(), self._folder, self._libraries)

    def _settings(self) -> dict[str, str]:
        sizes = self.sizes
        return {
            "bootstrap.servers": self.broker.bootstrap, "group.id": GROUP, "key.converter": STRINGS, "value.converter": STRINGS,
            "config.storage.topic": "connect-configs", "offset.storage.topic": "connect-offsets", "status.storage.topic": "connect-status",
            "config.storage.replication.factor": "1", "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1",
            "offset.storage.partitions": "1", "status.storage.partitions": "1", "plugin.discovery": "service_load",
            "offset.flush.interval.ms": str(sizes.commit_ms), "session.timeout.ms": str(sizes.session_ms),
            "heartbeat.interval.ms": str(sizes.heartbeat_ms), "scheduled.rebalance.max.delay.ms": str(sizes.delay_ms),
            "metadata.max.age.ms": str(max(1000, sizes.metadata_ms)), "consumer.auto.offset.reset": "earliest",
            "consumer.session.timeout.ms": str(sizes.session_ms), "consumer.heartbeat.interval.ms": str(sizes.heartbeat_ms),
        }  # fmt: skip

    def _everything_owned(self) -> bool:
        """Tell whether every task runs somewhere, and all of them are in the sink's consumer group."""
        last = self._newest()
        wanted = {(SINK, task) for task in range(-1, self.sizes.partitions)}
        readers = self.broker.groups.get(SINK_GROUP)
        return (
            last.settled
            and wanted <= last.holders().keys()
            and readers is not None
            and (readers.state, len(readers.members)) == (STABLE, self.sizes.partitions)
        )

    def _read(self) -> None:
        """Read the lines `topic partition offset` that the sink has written since the last call, one per record."""
        half = b""
        with self._written.open("rb") as written:
            while not self._ended.wait(LOOK_S / 2):
                whole, _, half = (half + written.read()).rpartition(b"\n")
                for line in whole.splitlines():
                    topic, partition, offset = line.decode().split()
                    facts: dict[str, Any] = {"topic": topic, "partition": int(partition), "first": int(offset), "last": int(offset)}
                    self._heard(SINK, "delivered", facts)


__all__ = ["ConnectStage", "Worker"]
