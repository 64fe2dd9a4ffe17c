"""What both brokers are asked beside steering, faults and data: groups, records, waits, stories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from os import PathLike, fspath
from typing import Final, Generic, TypeVar

import msgspec

from ..core.groups.view import GroupView, State
from ..data.log_record import Isolation
from ..journal.rows import RequestRow
from ..server.group_wait import Assignment, Missed, Wanted, reach, wanted_of
from .calls import Number, R, Text, Texts
from .commands import Commands, Lasting
from .data import Behind, Configs, Data, Facts, Moved, Sown, Wrote
from .fault_rules import Block, Faults, Report, Reports

__tracebackhide__: Final = True
Records = TypeVar("Records")
View = TypeVar("View")
Views = TypeVar("Views")
Found = TypeVar("Found")
Ids = TypeVar("Ids")
Id = TypeVar("Id")
Requests = TypeVar("Requests")
"""What `records`, `wait_for`, `groups`, `audit`, `transactions`, `transaction` and `requests` give: a value, or a coroutine of it."""
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


class GroupTimeout(AssertionError):
    """A group did not get where a test wanted it in time. The text has what was wanted, what is, and the group's story."""

    __module__ = "groupmock"  # a report calls it what a test imports

    def __init__(self, missed: str, story: Iterable[str] = (), bootstrap: str = "") -> None:
        super().__init__("\n".join([missed, *story]))
        self.missed = missed
        """The text without the story."""
        self.bootstrap = bootstrap
        """Of the cluster whose story it is."""


class InProcess(
    Commands[R, Lasting],
    Faults[R, Block, Text, Texts, Number, Report, Reports],
    Data[R, Facts, Configs, Behind, Moved, Wrote, Sown],
    Generic[
        R,
        Lasting,
        Block,
        Text,
        Texts,
        Number,
        Report,
        Reports,
        Records,
        View,
        Views,
        Found,
        Facts,
        Configs,
        Behind,
        Moved,
        Wrote,
        Sown,
        Ids,
        Id,
        Requests,
    ],
):
    """What both brokers are asked beside steering and faults."""

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
    def groups(self) -> Views:
        """Every group by id, as it is now."""
        done: Views = self._ask(lambda: {group.group_id: group.view() for group in self._up().cluster.groups.all()})
        return done

    @property
    def transactions(self) -> Ids:
        """Every transactional id, as it is now: state, producer, epoch, coordinator, how long its transaction has been open."""
        done: Ids = self._ask(lambda: {each.transactional_id: each for each in self._up().transactions()})
        return done

    def transaction(self, transactional_id: str) -> Id:
        """One transactional id: what is in its open transaction, whose offsets wait for its end, its story. CannotSteer without one."""
        done: Id = self._do(lambda: self._run(self._up().transaction(transactional_id)))
        return done

    def produce(
        self,
        topic: str,
        value: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | str | None]] | Mapping[str, bytes | str | None] = (),
        timestamp: int | None = None,
    ) -> Number:
        """Append one record on the server's side; returns its offset. Without a `partition` its key decides, as Kafka's producers hash it
        (murmur2), and a record without a key goes to partition 0. Text is written as UTF-8; `timestamp`: ms since 1970, default now.
        A topic that is not there is made, with `num.partitions`, unless `auto.create.topics.enable` is off: then CannotSteer, as for a
        partition that is not there."""
        each = [(name, _bytes(content)) for name, content in (headers.items() if isinstance(headers, Mapping) else headers)]
        pair = _bytes(key), _bytes(value)
        done: Number = self._ask(lambda: self._up().produce(topic, partition, *pair, each, timestamp))
        return done

    def add_node(self, rack: str | None = None, port: int | None = None) -> Number:
        """Add a node, which listens from now on; its id. `port` None: the next one, or a free one where all nodes have free ones."""
        done: Number = self._ask(lambda: self._up().add_node(rack, port))
        return done

    def client_says(self, client: str, what: str, /, **fields: Json) -> R:
        """Journal a `client` row: what a client says about itself. Does not wait; rows of one caller keep their order. TypeError if
        JSON has no word for something in `fields`."""

        def say() -> Future[None]:
            msgspec.json.encode((client, what, fields))  # here and not when the row is written, where nobody would hear of it
            self._on().call_soon_threadsafe(self._up().server.client_says, client, what, fields)
            said: Future[None] = Future()
            said.set_result(None)
            return said

        done: R = self._do(say)
        return done

    def records(
        self,
        topic: str,
        partition: int | None = None,
        offset: int = 0,
        limit: int | None = None,
        *,
        isolation: Isolation = "read_uncommitted",
        markers: bool = False,
    ) -> Records:
        """The records of a topic (or of one partition), by partition and offset: from that offset on, at most so many. Each says in
        `transaction` whether it was aborted; `isolation="read_committed"` leaves those out, and ends where the oldest open transaction
        begins. `markers`: with the control records that end transactions. ValueError where a client compressed them with what needs a
        library that is not installed."""
        done: Records = self._ask(lambda: self._up().records(topic, partition, offset, limit, isolation, markers))
        return done

    def requests(
        self, api: str | None = None, group: str | None = None, *, client_id: str | None = None, member_id: str | None = None
    ) -> Requests:
        """The requests that clients sent, oldest first, as far as they are kept in memory: of an `api` by Kafka's name ("JoinGroup"), that
        name a `group`, of a client, that name a member. `message` of each has the fields of Kafka's schema. ValueError for no such API."""

        def look() -> list[RequestRow]:
            from ..control.arrivals import kept
            from ..control.row_test import Filter, RowTest

            ring = self._up().ring
            assert ring is not None, "a broker in process keeps rows"
            wanted = Filter(kind="request", api=api, group=group, client_id=client_id, member_id=member_id)
            return [row for row in kept(ring, RowTest(wanted)) if isinstance(row, RequestRow)]

        done: Requests = self._ask(look)
        return done

    def story(self, group: str | None = None, member: str | None = None) -> Text:
        """What happened to a group, or to all: who got what, what was committed and refused. `member`: what is about this one alone, by its
        client id, its short name (`anna#d7e8`) or its id."""
        done: Text = self._do(lambda: self._run(self._story(group, member)))
        return done

    def draw(self, file: str | PathLike[str], group: str | None = None) -> R:
        """Write a picture of what happened so far: to NAME.html (a page that needs no network), NAME.svg or NAME.perfetto.json. Of every
        group, or of one. ValueError for another name, LookupError for a group that is not there."""
        done: R = self._do(lambda: self._run(self._up().draw(fspath(file), group)))
        return done

    def audit(self) -> Found:
        """What the clients were found to do up to now, rule by rule (`groupmock.audit`). NotAudited unless started with `audit=True`."""
        done: Found = self._ask(lambda: self._up().audit())
        return done

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
    ) -> View:
        """Wait until all of it holds: Kafka's `state`, so many `members`, a `generation` or a later one, a `member` of that member id,
        instance id or client id; an `assignment`: "orders" (or several topics) is assigned whole, or {"anna": ["orders/0"]}; `offsets`
        committed, {"orders/0": 17} or further; at most a `lag` of so many records. BadWait (a ValueError) for what can never hold;
        GroupTimeout says what was missing and tells the story."""
        wanted = wanted_of(
            group, state=state, members=members, generation=generation, member=member, assignment=assignment, offsets=offsets, lag=lag
        )
        done: View = self._wait(lambda: self._run(self._reach(wanted, timeout)))
        return done

    async def _story(self, group: str | None, member: str | None) -> str:
        return "\n".join(await self._up().story(group, member))

    async def _reach(self, wanted: Wanted, timeout: float) -> GroupView:
        running = self._up()
        found = await reach(running, wanted, timeout)
        if isinstance(found, Missed):
            raise GroupTimeout(str(found.lines), await running.story(wanted.group), running.reachable)
        return found


def _bytes(content: bytes | str | None) -> bytes | None:
    if not isinstance(content, bytes | bytearray | str | None):
        raise TypeError(f"keys, values and headers are bytes, text or None, not {type(content).__name__}")
    return content.encode() if isinstance(content, str) else content
