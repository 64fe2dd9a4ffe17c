"""The parts of a cluster side by side. Each was handed what it needs of the others; behaviours, which speak to several, get them all."""

from __future__ import annotations

from typing import NamedTuple

from .environment import Environment
from .group.coordinator import Coordinators
from .log.topics import Topics


class Cluster(NamedTuple):
    """Topics, and one group coordinator per partition of __consumer_offsets, on their common ground."""

    environment: Environment
    topics: Topics
    coordinators: Coordinators


def cluster_on(environment: Environment) -> Cluster:
    """A cluster without topics and groups."""
    topics = Topics(environment)
    return Cluster(environment, topics, Coordinators(environment, topics))
