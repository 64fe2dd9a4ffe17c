"""A broker over TCP that many plays share, with its addresses, settings and topics."""

from __future__ import annotations

import threading
import time

from groupmock.rig.wire import Unreadable
from groupmock_clients.probe.stages.tcp_broker import CannotProvide, NoBroker, TcpBroker
from groupmock_codec.api_keys import METADATA
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataResponse
from groupmock_codec.units import NS_PER_MS

from ..generated.script import Script, TopicNeed
from ..generated.settings_classes import class_of
from ..generated.transcript import Facts, TopicFact, group_names


class Peer:
    """A broker of any kind that is ready to answer requests. Connects at once and waits until all its coordinators answer; a context
    manager."""

    def __init__(self, host: str, port: int, release: str) -> None:
        self.release = release
        self.broker = broker = TcpBroker(host, port, release)
        settings = class_of(broker.settings)
        if settings is None:
            broker.close()
            raise NoBroker("the broker's settings are of no class that scripts ask for: see settings_classes.py")
        self.settings = settings
        try:
            broker.wait_for_transactions()
        except CannotProvide:
            # FindCoordinator answers COORDINATOR_NOT_AVAILABLE (15) until the topic __transaction_state exists. A broker that does not
            # create it can be tested nevertheless.
            pass
        answer = broker.ask(METADATA, 4, MetadataRequest(topics=[]))
        assert isinstance(answer, MetadataResponse)
        node = answer.brokers[0]
        self.node, self.advertised_host, self.advertised_port = node.node_id, node.host, node.port
        self.cluster_id = answer.cluster_id or ""
        self._lock = threading.Lock()
        self._shared: dict[str, TopicFact] = {}
        self._run = f"{time.time_ns() // NS_PER_MS % 10**9:09d}"
        self._plays = 0
        self.slowness = 0.0
        """The broker's worst recent delay in ms of answers that should come at once."""

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.broker.close()

    def took(self, ms: float) -> None:
        """Record how long the broker took for an answer that should come at once."""
        self.slowness = max(ms, self.slowness * 0.995)

    def facts(self, script: Script) -> Facts:
        """Return the broker's names for one play of a script, after creating its topics. Raises NoBroker."""
        with self._lock:
            self._plays += 1
            stem = f"d{self._run}-{self._plays}"
        topics = [self._topic(stem, number, need) for number, need in enumerate(script.topics, 1)]
        return Facts(
            self.release, self.settings, self.node, self.advertised_host, self.advertised_port, self.cluster_id, "/127.0.0.1",
            time.time_ns() // NS_PER_MS, group_names(script, stem), topics, stem,
        )  # fmt: skip

    def _topic(self, stem: str, number: int, need: TopicNeed) -> TopicFact:
        if need.own:
            return self._made(f"{stem}-t{number}", need)
        name = f"shared-{number}-{need.partitions}"
        with self._lock:
            if name not in self._shared:
                self._shared[name] = self._made(name, need)
            return self._shared[name]

    def _made(self, name: str, need: TopicNeed) -> TopicFact:
        try:
            return TopicFact(name, self.broker.make_topic(name, need.partitions, need.configs), need.partitions)
        except (CannotProvide, Unreadable) as problem:
            raise NoBroker(str(problem)) from problem


def parse_address(text: str) -> tuple[str, int]:
    """Parse "host:port", of which only the first of several counts. Raises ValueError."""
    host, _, port = text.split(",")[0].rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"HOST:PORT expected, not {text!r}")
    return host, int(port)
