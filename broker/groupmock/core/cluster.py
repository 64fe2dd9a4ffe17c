"""A cluster consists of an environment, topics, groups and transactions, and each of them gets only the others that it needs. The
behaviours of APIs, which use several parts, get the cluster."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from .environment import Environment
from .groups.registry import GroupRegistry
from .log.topics import Topics
from .transactions.coordinator import TransactionCoordinator

if TYPE_CHECKING:
    from .hosting import Hosting
    from .quotas import Quotas
    from .scram import Credentials


class Cluster:
    """A cluster has topics, groups in the partitions of __consumer_offsets, transactions in those of __transaction_state, and an
    environment that they share. It is no NamedTuple, because reading an attribute of one costs a heartbeat 4 % (CPython 3.11 specialises
    attributes of plain objects only)."""

    def __init__(self, environment: Environment, topics: Topics, groups: GroupRegistry, transactions: TransactionCoordinator) -> None:
        self.environment = environment
        self.topics = topics
        self.groups = groups
        self.transactions = transactions

    @property
    def hostings(self) -> tuple[Hosting, ...]:
        """Return the two objects that decide which node coordinates a group or a transactional id."""
        return self.groups.hosting, self.transactions.hosting

    @cached_property
    def quotas(self) -> Quotas:
        """Return the quotas of clients. They are made on first use, because a server listens before that."""
        from .quotas import Quotas

        return Quotas()

    @cached_property
    def credentials(self) -> Credentials:
        """Return the SCRAM credentials of users. They are made on first use, as the quotas."""
        from .scram import Credentials

        return Credentials()


def cluster_on(environment: Environment) -> Cluster:
    """Create a cluster without topics, groups and transactions."""
    topics = Topics(environment)
    return Cluster(environment, topics, GroupRegistry(environment, topics), TransactionCoordinator(environment, topics))
