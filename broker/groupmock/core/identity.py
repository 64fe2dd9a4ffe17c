"""The identity of a cluster is its id, its nodes, and the API versions that they support."""

from __future__ import annotations

from typing import NamedTuple

from .events import PLAINTEXT


class Node(NamedTuple):
    """One broker of the mock cluster, with the address of its first listener. `listens` is HOST:PORT if the socket has another address."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
    listens: str | None = None


class Listener(NamedTuple):
    """A listener of a node: an address that accepts connections, under a name that is the same on every node (KIP-103).

    `host` and `port` are the address that clients of this listener are told (Kafka's `advertised.listeners`). `listens` is HOST:PORT if the
    listener's real address is different. `protocol` is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL; only the first is served."""

    name: str
    protocol: str
    node: int
    host: str
    port: int
    listens: str | None = None


Endpoints = dict[int, dict[str, Listener]]
"""Maps node id and listener name to the address of the node's listener."""


class ApiRange(NamedTuple):
    """One API in the answer to ApiVersions, with its lowest and highest version."""

    key: int
    lowest: int
    highest: int


class Feature(NamedTuple):
    """A feature of the cluster with its supported levels, and with its finalized level if `finalized` is not None."""

    name: str
    lowest: int
    highest: int
    finalized: int | None = None


class Identity(NamedTuple):
    """The data that a cluster tells clients about itself. `limits` are the limits of its sockets, by Kafka's names. Every node has each
    of `listeners`; if there are none, each node has one, PLAINTEXT, at its own address. So a leader never lacks the listener of a
    request (LISTENER_NOT_FOUND, 72)."""

    cluster_id: str
    nodes: tuple[Node, ...]
    advertised: tuple[ApiRange, ...]
    features: tuple[Feature, ...] = ()
    finalized_features_epoch: int = -1
    limits: tuple[tuple[str, str], ...] = ()
    listeners: tuple[Listener, ...] = ()

    @property
    def endpoints(self) -> Endpoints:
        """Return the addresses of each node by listener name. They are computed anew: `Environment.endpoints` keeps them."""
        plain = [Listener(PLAINTEXT, PLAINTEXT, node.node_id, node.host, node.port, node.listens) for node in self.nodes]
        by_node: Endpoints = {node.node_id: {} for node in self.nodes}
        for listener in self.listeners or plain:
            by_node[listener.node][listener.name] = listener
        return by_node
