"""Groups, transactions, requests, stories and audits are read and awaited by methods of `Broker`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Final

import msgspec

from ..core.groups.view import GroupView, State
from ..journal.rows import RequestRow
from ..server.group_wait import Assignment, Missed, Wanted, reach, wanted_of
from ..server.streams_wait import TaskAssignment
from .calls import Calls
from .errors import GroupTimeout
from .values import Json

if TYPE_CHECKING:
    from ..audit.verdicts import Audit
    from ..data.in_flight import SharePartitionRow
    from ..data.transactions import TransactionDetails, TransactionRow
    from ..security.client_settings import ClientSecurity
    from ..server.running import Running

__tracebackhide__: Final = True


class Groups(Calls):
    """Methods that read groups, stories and audits, and wait for groups."""

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes as `host:port`, separated by commas, that clients of this machine take as bootstrap servers."""
        return self._up().reachable

    @property
    def advertised(self) -> str:
        """The addresses that clients are told, as `host:port`, separated by commas. They equal `bootstrap` without the option `advertise`.
        """
        return self._up().bootstrap

    def security(
        self, listener: str | None = None, *, user: str | None = None, mechanism: str = "PLAIN", certificate: bool = False
    ) -> ClientSecurity:
        """Return what a client has to be told to reach a listener (None: the first one), for instance
        `Consumer(broker.security("OUTSIDE", user="alice").confluent_kafka() | {"group.id": "kitchen"})`. `user` None is the first of
        `users`; `certificate`: the client shows a certificate. Raises ConfigError for an unknown listener or user."""
        from ..server.reached import client_security

        return client_security(self._up(), listener, user, mechanism, certificate)

    @property
    def seed(self) -> int:
        """The seed of this run's ids. `Broker(seed=...)` with this value draws the same ids again."""
        return self._up().seed

    @property
    def audited(self) -> bool:
        """True if the clients are judged by the audit."""
        return self._up().audit_sink is not None

    @property
    def groups(self) -> dict[str, GroupView]:
        """Every group by its id, as it is now."""
        return self._ask(lambda: {group.group_id: group.view() for group in self._up().cluster.groups.all()})

    @property
    def transactions(self) -> dict[str, TransactionRow]:
        """Every transactional id, as it is now: state, producer, epoch, coordinator, and how long its transaction has been open."""
        return self._ask(lambda: {row.transactional_id: row for row in self._up().transactions()})

    def transaction(self, transactional_id: str) -> TransactionDetails:
        """Return the details of one transactional id: the partitions of its open transaction, the groups whose offsets wait for its end,
        and its story. Raises CannotSteer for an unknown id."""
        return self._run(self._up().transaction(transactional_id))

    def in_flight(self, group: str) -> list[SharePartitionRow]:
        """Return which records of a share group are in flight: for each partition that its members fetch, the records that somebody got
        and that are not done, who has them, until when, and how often they were delivered."""
        return self._ask(lambda: self._up().in_flight(group))

    def client_says(self, client: str, what: str, /, **fields: Json) -> None:
        """Write a `client` row into the journal: what a client says about itself. This does not wait; rows of one caller keep their order.
        Raises TypeError if a value in `fields` has no JSON form."""
        # The fields are encoded once as a check, because an error while the row is written would reach no caller.
        msgspec.json.encode((client, what, fields))
        self._on().call_soon_threadsafe(self._up().server.client_says, client, what, fields)

    def requests(
        self, api: str | None = None, group: str | None = None, *, client_id: str | None = None, member_id: str | None = None
    ) -> list[RequestRow]:
        """Return the requests that clients sent, oldest first, as far as they are kept in memory.

        They can be restricted to an `api` by Kafka's name ("JoinGroup"), a `group`, a client id and a member id. `message` of each has the
        fields of Kafka's schema. Raises ValueError for an unknown API."""
        return self._ask(lambda: kept_requests(self._up(), api, group, client_id, member_id))

    def story(self, group: str | None = None, member: str | None = None) -> str:
        """Return the story of a group, or of all groups: who got which partitions, what was committed and refused. `member` restricts it
        to one member, by client id, short name (`anna#d7e8`) or member id."""
        lines = self._run(self._up().story(group, member))
        return "\n".join(lines)

    def draw(self, file: str | PathLike[str], group: str | None = None) -> None:
        """Draw what happened so far to all groups or one: to NAME.html (a page that needs no network), NAME.svg or NAME.perfetto.json.
        Raises ValueError for another file name, LookupError for an unknown group."""
        self._run(self._up().draw(fspath(file), group))

    def audit(self) -> Audit:
        """Return what the audit has found about the clients until now, rule by rule (`groupmock.audit`). Raises NotAudited unless started
        with `audit=True`."""
        return self._ask(lambda: self._up().audit())

    def wait_for(
        self,
        group: str,
        state: State | None = None,
        members: int | None = None,
        generation: int | None = None,
        timeout: float = 10.0,
        *,
        member: str | None = None,
        assignment: Assignment | None = None,
        offsets: Mapping[str, int] | None = None,
        lag: int | None = None,
        acquired: int | None = None,
        deliveries: int | None = None,
        tasks: TaskAssignment | None = None,
        standbys: TaskAssignment | None = None,
    ) -> GroupView:
        """Wait until all given conditions hold and return the group.

        `state` is Kafka's name; `members` is their exact number; `generation` is a lowest one; `member` is the member id, instance id or
        client id of one of them. `assignment`: "orders" (or several topics) is assigned completely, or {"anna": ["orders/0"]}. `offsets`:
        {"orders/0": 17} is committed, or a higher offset. `lag`: at most so many records. Of a share group, `acquired`: members have at
        most so many records, and `deliveries`: a record that is not done was delivered at least so often. Of a streams group, `tasks` and
        `standbys`: {"anna": ["0_1"]}, the active and the standby tasks that each named member has. Raises BadWait (a ValueError) for
        conditions that can never hold, and GroupTimeout with what is missing and the story."""
        wanted = wanted_of(
            group,
            state=state,
            members=members,
            generation=generation,
            member=member,
            assignment=assignment,
            offsets=offsets,
            lag=lag,
            acquired=acquired,
            deliveries=deliveries,
            tasks=tasks,
            standbys=standbys,
        )
        return self._wait("wait_for", lambda: until_reached(self._up(), wanted, timeout))


def kept_requests(running: Running, api: str | None, group: str | None, client_id: str | None, member_id: str | None) -> list[RequestRow]:
    """Return the requests in memory that match the conditions. Raises ValueError for an unknown API."""
    from ..control.arrivals import kept
    from ..control.row_test import Filter, RowTest

    assert running.ring is not None, "a broker in process keeps rows"
    wanted = Filter(kind="request", api=api, group=group, client_id=client_id, member_id=member_id)
    return [row for row in kept(running.ring, RowTest(wanted)) if isinstance(row, RequestRow)]


async def until_reached(running: Running, wanted: Wanted, timeout: float) -> GroupView:
    """Wait until the conditions on a group hold, and return the group. Raises GroupTimeout."""
    outcome = await reach(running, wanted, timeout)
    if isinstance(outcome, Missed):
        raise GroupTimeout(str(outcome.lines), await running.story(wanted.group), running.reachable)
    return outcome
