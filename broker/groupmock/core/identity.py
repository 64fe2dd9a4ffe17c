"""What a cluster tells clients about itself: its id, its nodes and what they speak."""

from __future__ import annotations

from typing import NamedTuple


class Node(NamedTuple):
    """One broker of the mock cluster as clients are told about it (the advertised address). `listens`: HOST:PORT where that is another."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
    listens: str | None = None


class ApiRange(NamedTuple):
    """One row of the ApiVersions answer."""

    key: int
    lowest: int
    highest: int


class Feature(NamedTuple):
    """A feature level of the profile: in the ApiVersions answer as supported, and as finalized when `finalized` is not None."""

    name: str
    lowest: int
    highest: int
    finalized: int | None = None


class Identity(NamedTuple):
    """What a cluster tells clients about itself. `limits`: what its sockets were told to allow, by Kafka's names."""

    cluster_id: str
    nodes: tuple[Node, ...]
    advertised: tuple[ApiRange, ...]
    features: tuple[Feature, ...] = ()
    finalized_features_epoch: int = -1
    limits: tuple[tuple[str, str], ...] = ()
