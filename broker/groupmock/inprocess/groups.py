"""What a test asks a cluster beside its data and its fault rules: groups, transactions, requests, stories, waits."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Final

import msgspec

from ..core.groups.view import GroupView, State
from ..journal.rows import RequestRow
from ..server.group_wait import Assignment, Missed, Wanted, reach, wanted_of
from .calls import Calls
from .errors import GroupTimeout
from .values import Json

if TYPE_CHECKING:
    from ..audit.verdicts import Audit
    from ..data.transactions import TransactionDetails, TransactionRow
    from ..server.running import Running

__tracebackhide__: Final = True


class Groups(Calls):
    """Groups, stories, waits."""

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node, comma separated: what clients of this machine take as bootstrap servers."""
        return self._up().reachable

    @property
    def advertised(self) -> str:
        """`host:port` of every node as clients are told to connect to, comma separated: `bootstrap`, unless started with `advertise`."""
        return self._up().bootstrap

    @property
    def seed(self) -> int:
        """The seed of this run's ids: give it to `Broker(seed=...)` to draw the same again."""
        return self._up().seed

    @property
    def audited(self) -> bool:
        """Are the clients judged?"""
        return self._up().beside is not None

    @property
    def groups(self) -> dict[str, GroupView]:
        """Every group by id, as it is now."""
        return self._ask(lambda: {group.group_id: group.view() for group in self._up().cluster.groups.all()})

    @property
    def transactions(self) -> dict[str, TransactionRow]:
        """Every transactional id, as it is now: state, producer, epoch, coordinator, how long its transaction has been open."""
        return self._ask(lambda: {each.transactional_id: each for each in self._up().transactions()})

    def transaction(self, transactional_id: str) -> TransactionDetails:
        """One transactional id: what is in its open transaction, whose offsets wait for its end, its story. CannotSteer without one."""
        return self._run(self._up().transaction(transactional_id))

    def client_says(self, client: str, what: str, /, **fields: Json) -> None:
        """Journal a `client` row: what a client says about itself. Does not wait; rows of one caller keep their order. TypeError if
        JSON has no word for something in `fields`."""
        msgspec.json.encode((client, what, fields))  # here and not when the row is written, where nobody would hear of it
        self._on().call_soon_threadsafe(self._up().server.client_says, client, what, fields)

    def requests(
        self, api: str | None = None, group: str | None = None, *, client_id: str | None = None, member_id: str | None = None
    ) -> list[RequestRow]:
        """The requests that clients sent, oldest first, as far as they are kept in memory: of an `api` by Kafka's name ("JoinGroup"), that
        name a `group`, of a client, that name a member. `message` of each has the fields of Kafka's schema. ValueError for no such API."""
        return self._ask(lambda: kept_requests(self._up(), api, group, client_id, member_id))

    def story(self, group: str | None = None, member: str | None = None) -> str:
        """What happened to a group, or to all: who got what, what was committed and refused. `member`: what is about this one alone, by its
        client id, its short name (`anna#d7e8`) or its id."""
        lines = self._run(self._up().story(group, member))
        return "\n".join(lines)

    def draw(self, file: str | PathLike[str], group: str | None = None) -> None:
        """Write a picture of what happened so far: to NAME.html (a page that needs no network), NAME.svg or NAME.perfetto.json. Of every
        group, or of one. ValueError for another name, LookupError for a group that is not there."""
        self._run(self._up().draw(fspath(file), group))

    def audit(self) -> Audit:
        """What the clients were found to do up to now, rule by rule (`groupmock.audit`). NotAudited unless started with `audit=True`."""
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
    ) -> GroupView:
        """Wait until all of it holds: Kafka's `state`, so many `members`, a `generation` or a later one, a `member` of that member id,
        instance id or client id; an `assignment`: "orders" (or several topics) is assigned whole, or {"anna": ["orders/0"]}; `offsets`
        committed, {"orders/0": 17} or further; at most a `lag` of so many records. BadWait (a ValueError) for what can never hold;
        GroupTimeout says what was missing and tells the story."""
        wanted = wanted_of(
            group, state=state, members=members, generation=generation, member=member, assignment=assignment, offsets=offsets, lag=lag
        )
        return self._wait("wait_for", lambda: until_reached(self._up(), wanted, timeout))


def kept_requests(running: Running, api: str | None, group: str | None, client_id: str | None, member_id: str | None) -> list[RequestRow]:
    """Those that the ring of rows still has. Raises ValueError where there is no such API."""
    from ..control.arrivals import kept
    from ..control.row_test import Filter, RowTest

    assert running.ring is not None, "a broker in process keeps rows"
    wanted = Filter(kind="request", api=api, group=group, client_id=client_id, member_id=member_id)
    return [row for row in kept(running.ring, RowTest(wanted)) if isinstance(row, RequestRow)]


async def until_reached(running: Running, wanted: Wanted, timeout: float) -> GroupView:
    """Wait until the group is as wanted. Raises GroupTimeout."""
    found = await reach(running, wanted, timeout)
    if isinstance(found, Missed):
        raise GroupTimeout(str(found.lines), await running.story(wanted.group), running.reachable)
    return found
