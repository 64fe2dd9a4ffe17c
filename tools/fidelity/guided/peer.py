"""A broker over TCP that many plays share, with its addresses, settings and topics."""

from __future__ import annotations

import threading
import time

from groupmock.core.log.names import OFFSETS_TOPIC
from groupmock.rig.wire import Unreadable
from groupmock_clients.probe.stages.tcp_broker import CannotProvide, NoBroker, TcpBroker
from groupmock_codec.api_keys import FIND_COORDINATOR, METADATA
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataResponse
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from groupmock_codec.units import NS_PER_MS

from ..generated.script import Script, TopicNeed
from ..generated.settings_classes import class_of
from ..generated.transcript import Facts, NodeFact, TopicFact, group_names
from .moves_awaited import move_all


class Peer:
    """A broker of any kind that is ready to answer requests. Connects at once and waits until all its coordinators answer; a context
    manager."""

    def __init__(self, host: str, port: int, release: str) -> None:
        self.release = release
        self.broker = broker = TcpBroker(host, port, release)
        settings = class_of(broker.settings, broker.nodes)
        if settings is None:
            broker.close()
            raise NoBroker("the broker's settings are of no class that scripts ask for: see settings_classes.py")
        self.settings = settings
        try:
            if broker.nodes == 1:
                broker.wait_for_transactions()
        except CannotProvide:
            # FindCoordinator answers COORDINATOR_NOT_AVAILABLE (15) until the topic __transaction_state exists. A broker that does not
            # create it can be tested nevertheless.
            pass
        answer = broker.ask(METADATA, 4, MetadataRequest(topics=[]))
        assert isinstance(answer, MetadataResponse)
        first, *others = sorted(answer.brokers, key=lambda each: each.port != port)
        self.node, self.advertised_host, self.advertised_port = first.node_id, first.host, first.port
        self.others = [NodeFact(each.node_id, each.host, each.port) for each in others]
        self.cluster_id = answer.cluster_id or ""
        if others:
            self.lead_groups()
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
        facts = Facts(
            self.release, self.settings, self.node, self.advertised_host, self.advertised_port, self.cluster_id, "/127.0.0.1",
            time.time_ns() // NS_PER_MS, group_names(script, stem), [], stem, self.others,
        )  # fmt: skip
        for number, need in enumerate(script.topics):
            leaders = facts.leaders(number, need.partitions) if self.others else []
            facts.topics.append(self._topic(stem, number + 1, need, leaders))
        return facts

    def lead_groups(self) -> None:
        """Let the first node coordinate all groups, as in the core at the begin of a play."""
        node = NodeFact(self.node, self.advertised_host, self.advertised_port)
        made = self.broker.ask(FIND_COORDINATOR, 3, FindCoordinatorRequest(key="any"))
        assert isinstance(made, FindCoordinatorResponse)
        partitions = int(self.broker.settings["offsets.topic.num.partitions"])
        move_all(lambda _, *request: self.broker.ask(*request), [node], {OFFSETS_TOPIC: [self.node] * partitions})

    def _topic(self, stem: str, number: int, need: TopicNeed, leaders: list[int]) -> TopicFact:
        if need.own:
            return self._made(f"{stem}-t{number}", need, leaders)
        name = f"shared-{number}-{need.partitions}"
        with self._lock:
            if name not in self._shared:
                self._shared[name] = self._made(name, need, leaders)
            return self._shared[name]

    def _made(self, name: str, need: TopicNeed, leaders: list[int]) -> TopicFact:
        try:
            return TopicFact(name, self.broker.make_topic(name, need.partitions, need.configs, leaders), need.partitions)
        except (CannotProvide, Unreadable) as problem:
            raise NoBroker(str(problem)) from problem


def parse_address(text: str) -> tuple[str, int]:
    """Parse "host:port", of which only the first of several counts. Raises ValueError."""
    host, _, port = text.split(",")[0].rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"HOST:PORT expected, not {text!r}")
    return host, int(port)
