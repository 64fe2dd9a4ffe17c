"""A cluster consists of an environment, topics, groups and transactions, and each of them gets only the others that it needs. The
behaviours of APIs, which use several parts, get the cluster."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from .authorizer.acl import CLUSTER, CLUSTER_NAME, DESCRIBE, all_operations
from .environment import Environment
from .groups.registry import GroupRegistry
from .log.topics import Topics
from .transactions.tenancy import TransactionTenancy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .authorizer.authorizer import Authorizer
    from .events import Request
    from .expiring import Expiring
    from .hosting import Hosting
    from .quotas import Quotas
    from .scram import Credentials
    from .share.shares import Shares
    from .transactions.coordinator import TransactionCoordinator
    from .turn import Turn

NOTHING: Final[frozenset[str]] = frozenset()
NOT_ASKED: Final = -(2**31)
"""The authorized operations of a resource for which the request did not ask, or which it may not describe."""


class Cluster:
    """A cluster has topics, groups in the partitions of __consumer_offsets, transactions in those of __transaction_state, and an
    environment that they share. It is no NamedTuple, because reading an attribute of one costs a heartbeat 4 % (CPython 3.11 specialises
    attributes of plain objects only)."""

    def __init__(self, environment: Environment, topics: Topics, groups: GroupRegistry, tenancy: TransactionTenancy) -> None:
        self.environment = environment
        self.topics = topics
        self.groups = groups
        self.tenancy = tenancy
        """Makes the transaction coordinator on first use."""
        groups.share_states = lambda: self.shares
        self.authorizer = self._authorizer()
        """Decides what principals may do, or is None if everybody may do everything."""

    def _authorizer(self) -> Authorizer | None:
        if not self.environment.settings.authorizer_class_name:
            return None
        from .authorizer.authorizer import Authorizer  # This import is late, because most clusters have no authorizer.

        return Authorizer(self.environment.settings, self.groups.end_leases)

    def denied(self, turn: Turn, request: Request, operation: int, kind: int, names: Iterable[str]) -> frozenset[str]:
        """Return those of the names on which the sender may not do the operation, each with a row in the journal."""
        return NOTHING if self.authorizer is None else self.authorizer.denied(turn, request, operation, kind, names)

    def allows(self, request: Request, operation: int, kind: int, name: str) -> bool:
        """Return whether the sender may do the operation. A refusal has no row in the journal, because the answer only omits something."""
        authorizer = self.authorizer
        return authorizer is None or authorizer.allows(request.principal, request.client_host, operation, kind, name)

    def operations(self, request: Request, kind: int, name: str) -> int:
        """Return the operations that the sender may do on the resource as bits: bit n stands for operation n."""
        if self.authorizer is None:
            return all_operations(kind, self.environment.settings.quirks)
        return self.authorizer.operations(request, kind, name)

    def own_operations(self, request: Request) -> int:
        """Return the operations that the sender may do on the cluster as bits: 0 if it may not describe the cluster (SEC-74)."""
        return self.operations(request, CLUSTER, CLUSTER_NAME) if self.allows(request, DESCRIBE, CLUSTER, CLUSTER_NAME) else 0

    @property
    def hostings(self) -> tuple[Hosting, ...]:
        """Return the two objects that decide which node coordinates a group or a transactional id."""
        return self.groups.hosting, self.tenancy.hosting

    @property
    def transactions(self) -> TransactionCoordinator:
        """Return the transaction coordinator, which is made on first use."""
        return self.tenancy.coordinator

    @cached_property
    def quotas(self) -> Quotas:
        """Return the quotas of clients. They are made on first use, because a server listens before that."""
        from .quotas import Quotas

        return Quotas()

    @cached_property
    def shares(self) -> Shares:
        """Return the share partitions and share sessions. They are made on first use, as the quotas."""
        from .share.shares import Shares

        return Shares(self.environment, self.topics, self.groups)

    @cached_property
    def early_delays(self) -> Expiring[int]:
        """Return the times (ns of the run) at which initial delays end that failed joins have started for streams groups that do not exist
        yet (ST-137). Kafka keeps any number of them."""
        from .expiring import Expiring

        return Expiring(100)

    def disconnected_from_shares(self, turn: Turn, connection: int) -> None:
        """End the share sessions that were opened on a connection."""
        if "shares" in self.__dict__:  # Before the first share group, there are no share sessions.
            self.shares.disconnected(turn, connection)

    @cached_property
    def credentials(self) -> Credentials:
        """Return the SCRAM credentials of users. They are made on first use, as the quotas."""
        from .scram import Credentials

        return Credentials()


def cluster_on(environment: Environment) -> Cluster:
    """Create a cluster without topics, groups and transactions."""
    topics = Topics(environment)
    return Cluster(environment, topics, GroupRegistry(environment, topics), TransactionTenancy(environment, topics))
