"""The parts of a cluster side by side. Each was handed what it needs of the others; behaviours, which speak to several, get them all."""

from __future__ import annotations

from .environment import Environment
from .groups.registry import GroupRegistry
from .log.topics import Topics


class Cluster:
    """Topics, and the groups that live in partitions of __consumer_offsets, on their common ground.

    No NamedTuple: reading a part of one costs a heartbeat 4 % (CPython 3.11 specialises attributes of plain objects only).
    """

    def __init__(self, environment: Environment, topics: Topics, groups: GroupRegistry) -> None:
        self.environment = environment
        self.topics = topics
        self.groups = groups


def cluster_on(environment: Environment) -> Cluster:
    """A cluster without topics and groups."""
    topics = Topics(environment)
    return Cluster(environment, topics, GroupRegistry(environment, topics))
