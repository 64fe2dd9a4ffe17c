"""Kafka Connect on the live stage: its Java implementation of Design II, with one distributed worker per member.

The workers share the tasks of one file sink, one task per partition. A record is delivered when the sink has written it. The tasks read in
a consumer group of their own, which is not measured, and which a worker's death disturbs too.
"""

from __future__ import annotations

import fcntl
import json
import signal
import socket
import subprocess
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
from .stage import LOOK_S, LiveStage

SINK: Final = "sink"
SINK_GROUP: Final = f"connect-{SINK}"
LEAVING_S: Final = 60.0
STARTING_S: Final = 120.0
TAIL: Final = 1500
FLAGS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
STRINGS: Final = "org.apache.kafka.connect.storage.StringConverter"


class Worker:
    """A process of ConnectDistributed, whose client id is the member's name. It has the stage's interface `Process`."""

    def __init__(self, member: str, settings: dict[str, str], folder: Path, libraries: Path) -> None:
        self.member = member
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self._log = folder / f"{member}.log"
        properties = {**settings, "client.id": member, "listeners": f"http://{self.address}", "rest.advertised.host.name": "127.0.0.1"}
        file = folder / f"{member}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        command = ["java", *FLAGS, "-cp", f"{libraries}/*", "org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
        with self._log.open("ab") as sink:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)

    def check(self) -> None:
        """Raise Missed if the process has ended by itself."""
        if self._process.poll() is not None:
            raise Missed(f"worker {self.member} ended by itself with status {self._process.returncode}:\n{self.tail()}")

    def tail(self) -> str:
        return self._log.read_text(errors="replace")[-TAIL:]

    def subscribe(self, topics: Sequence[str]) -> None:
        """Raises Unsupported, because a worker has no topics."""
        raise Unsupported("a Connect worker does not subscribe")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def leave(self) -> None:
        """Send SIGTERM, so that the worker stops its tasks, which commit, and leaves. Raises Missed if it does not end."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(LEAVING_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Missed(f"worker {self.member} did not stop within {LEAVING_S:g} s:\n{self.tail()}") from None

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


class ConnectStage(LiveStage):
    """The live stage of Kafka Connect's workers. Raises Unsupported without Java and Maven."""

    def __init__(self, sizes: Sizes, protocol: Protocol, broker: Broker, journal: Path, folder: Path) -> None:
        self._libraries = connect_libraries()
        self._turn = self._libraries.with_suffix(".turn").open("w")
        # Only one run plays at a time, because each needs three Java virtual machines, which are enough for a machine.
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        self._written = folder / "written.txt"
        self._written.touch()
        self._made = False
        super().__init__(sizes, protocol, broker, journal, folder)
        self._patience += STARTING_S
        self._ended = threading.Event()
        self._reading = threading.Thread(target=self._read, name="sink", daemon=True)
        self._reading.start()

    def close(self) -> None:
        super().close()
        self._ended.set()
        self._reading.join()
        self._turn.close()

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
