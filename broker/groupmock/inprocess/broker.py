"""The in-process Broker: a mock cluster on a thread and an event loop of its own.

A blocking `wait_for` therefore never freezes a client that runs on the test's loop. `with Broker(...) as broker` gives blocking
calls, `async with Broker(...) as broker` the same names as coroutines (`calls` says how one method is both).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from ..assembly import start
from ..audit.verdicts import Audit
from ..config import ConfigError, all_settings, resolve, settings_by_name
from ..core.groups.view import GroupView
from ..net.loops import UnknownLoop, new_loop
from ..running import CHANGES, CannotStart, Running
from ..views import Record
from .calls import R
from .commands import AsyncUndo, Commands, Lasting, Undo
from .fault_rules import AsyncFaultBlock, Block, FaultBlock, Faults, PlanLike, Text, Texts, as_plan

if TYPE_CHECKING:
    from ..control.server import Control

T = TypeVar("T")
Offset = TypeVar("Offset")
Records = TypeVar("Records")
View = TypeVar("View")
Found = TypeVar("Found")
"""What `produce`, `records`, `wait_for` and `audit` give: a value, or a coroutine of it."""
Later = Coroutine[Any, Any, T]
Topics = Mapping[str, int] | Iterable[str]


class GroupTimeout(AssertionError):
    """A group did not get where a test wanted it in time. The text has what was wanted, what is, and the group's story."""


class InProcess(Commands[R, Lasting], Faults[R, Block, Text, Texts], Generic[R, Lasting, Block, Text, Texts, Offset, Records, View, Found]):
    """What both brokers are asked beside steering and faults."""

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node, comma separated: what clients take as bootstrap servers."""
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
        """Every group by id, as it is now (blocks for a turn of the cluster's loop)."""
        return self._call(lambda: {group.group_id: group.view() for group in self._up().cluster.groups.all()})

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        partition: int = 0,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
    ) -> Offset:
        """Append one record on the server's side; returns its offset. `timestamp`: ms since 1970, default now."""
        each = list(headers)
        done: Offset = self._do(lambda: self._post(lambda: self._up().produce(topic, partition, key, value, each, timestamp)))
        return done

    def client_says(self, client: str, what: str, /, **fields: Any) -> R:
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

    def records(self, topic: str, partition: int | None = None) -> Records:
        """The records of a topic (or of one partition), by partition and offset."""
        done: Records = self._do(lambda: self._post(lambda: self._up().records(topic, partition)))
        return done

    def story(self, group: str | None = None, member: str | None = None) -> Text:
        """What happened to a group, or to all: who got what, what was committed and refused. `member`: what is about this one alone, by its
        client id, its short name (`anna#d7e8`) or its id."""
        done: Text = self._do(lambda: self._post(lambda: "\n".join(self._up().story(group, member))))
        return done

    def audit(self) -> Found:
        """What the clients were found to do up to now, rule by rule (`groupmock.audit`). NotAudited unless started with `audit=True`."""
        done: Found = self._do(lambda: self._post(lambda: self._up().audit()))
        return done

    def wait_for(
        self,
        group: str,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        timeout: float = 10.0,
    ) -> View:
        """Wait until the group is in `state` with that many members and at least that generation. GroupTimeout tells the story."""

        def reached(view: GroupView) -> bool:
            return (
                state in (None, view.state)
                and members in (None, len(view.members))
                and (generation is None or view.generation >= generation)
            )

        wanted = ", ".join(
            f"{name} {value}"
            for name, value in (("state", state), ("members", members), ("generation at least", generation))
            if value is not None
        )
        done: View = self._do(lambda: self._run(self._reach(group, reached, wanted, timeout)))
        return done

    async def _reach(self, group: str, reached: Callable[[GroupView], bool], wanted: str, timeout: float) -> GroupView:
        running = self._up()

        def view() -> GroupView | None:
            found = running.cluster.groups.find(group)
            return found.view() if found is not None else None

        def there() -> GroupView | None:
            seen = view()
            return seen if seen is not None and reached(seen) else None

        found = await running.until(CHANGES, there, timeout)
        if found is None:
            raise GroupTimeout(_missed(group, wanted, timeout, view(), running))
        return found


class Broker(InProcess[None, Undo, FaultBlock, str, list[str], int, list[Record], GroupView, Audit]):
    """A mock Kafka cluster in this process.

    `topics`: {"orders": 12} or ["orders:12"]; `settings`: Kafka's names, {"group.max.size": 3}; the same as keywords with
    underscores: `group_max_size=3`. `journal`: a file, of at most `journal_max_bytes`; `run`: what it calls this run;
    `plan`: fault rules from the start; `audit`: judge the clients (`Broker.audit`), `audit_waivers`: a file of
    findings that do not count; `control`: serve the control API (docs/reference/control.md) on that port, 0 for
    a free one. Raises ConfigError for a bad value, CannotStart for a taken port.
    """

    def __init__(
        self,
        topics: Topics = (),
        *,
        seed: int | None = None,
        run: str | None = None,
        nodes: int = 1,
        profile: str = "groupmock",
        journal: str | None = None,
        journal_max_bytes: int | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: str | None = None,
        log: str = "off",
        plan: PlanLike | None = None,
        audit: bool = False,
        audit_waivers: str | None = None,
        control: int | str | None = None,
        token: str | None = None,
        settings: Mapping[str, Any] | None = None,
        **by_keyword: Any,
    ) -> None:
        flags = {
            "topic": tuple(_topic_texts(topics)),
            "seed": seed,
            "run": run,
            "nodes": nodes,
            "profile": profile,
            "journal": journal,
            "journal-max-bytes": journal_max_bytes,
            "host": host,
            "port": port,
            "advertise": advertise,
            "log": log,
            "audit": audit or None,
            "audit-waivers": audit_waivers,
            "control": None if control is None else str(control),
            "token": token,
        }
        self._plan = as_plan(plan) if plan is not None else None
        self._config = resolve(flags, [*(settings or {}).items(), *_by_kafka_name(by_keyword)])
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: Running | None = None
        self._control: Control | None = None
        self._stop: asyncio.Event | None = None
        self._trouble_at_end: Exception | None = None

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> AsyncBroker:
        await asyncio.to_thread(self.start)
        return AsyncBroker(self)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.stop)

    @property
    def control(self) -> str | None:
        """Where the control API is, if it was asked for."""
        self._up()
        return self._control.url if self._control is not None else None

    @property
    def start_settings(self) -> dict[str, Any]:
        """Kafka name -> value of every setting of this run."""
        return settings_by_name(self._config)

    @property
    def journal(self) -> str | None:
        """The journal's file, if there is one."""
        return self._config.journal

    def start(self, ports: Sequence[int] = ()) -> Broker:
        """Start serving; returns once clients can connect. `ports`: one per node, where they must be those of an earlier start."""
        ready: Future[Running] = Future()
        # A daemon: a test run that forgot `stop` still ends.
        self._thread = threading.Thread(target=self._serve, args=(ready, ports), name="groupmock", daemon=True)
        self._thread.start()
        try:
            self._running = ready.result()
        except BaseException:
            self._thread.join()
            raise
        return self

    def stop(self) -> None:
        """Stop serving, close every connection, flush the journal. Raises what went wrong with the journal."""
        if self._thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = self._loop = self._running = self._control = None
        if self._trouble_at_end is not None:
            trouble, self._trouble_at_end = self._trouble_at_end, None
            raise trouble

    def clear(self) -> None:
        """Forget every topic, group and connection and rotate the journal; the bootstrap address stays."""
        ports = self._up().ports
        if self._control is not None:  # it stays where it is
            asyncio.run_coroutine_threadsafe(self._control.context.reset(), self._on()).result()
            return
        self.stop()
        self.start(ports)

    def _do(self, begin: Callable[[], Future[T]]) -> T:
        return begin().result()

    def _lasting(self, do: Callable[[], None], undo: Callable[[], None]) -> Undo:
        do()
        return Undo(undo)

    def _block(self, rule: dict[str, Any], must_fire: bool) -> FaultBlock:
        return FaultBlock(self, rule, must_fire)

    def _up(self) -> Running:
        if self._running is None:
            raise RuntimeError("the broker is not running: use `with Broker(...) as broker` or broker.start()")
        return self._control.running if self._control is not None else self._running  # a reset makes another

    def _on(self) -> asyncio.AbstractEventLoop:
        self._up()
        assert self._loop is not None
        return self._loop

    def _serve(self, ready: Future[Running], ports: Sequence[int]) -> None:
        try:
            with asyncio.Runner(loop_factory=new_loop) as runner:
                self._loop = runner.get_loop()
                runner.run(self._until_stopped(ready, ports))
        except UnknownLoop as unknown:
            ready.set_exception(unknown)

    async def _until_stopped(self, ready: Future[Running], ports: Sequence[int]) -> None:
        self._stop = asyncio.Event()
        try:
            running = await start(self._config, ports=ports, stories=True, plan=self._plan)
            if self._config.control is not None:
                from ..control.start import start_control

                self._control = await start_control(self._config, running, plan=self._plan)
        except BaseException as error:  # belongs to the thread that called start()
            ready.set_exception(error)
            return
        ready.set_result(running)
        await self._stop.wait()
        if self._control is not None:
            await self._control.close()
            running = self._control.running
        self._trouble_at_end = await running.close()


class AsyncBroker(
    InProcess[
        Later[None], AsyncUndo, AsyncFaultBlock, Later[str], Later[list[str]], Later[int], Later[list[Record]], Later[GroupView],
        Later[Audit],
    ]
):
    """The same names as `Broker`, as coroutines where `Broker` blocks."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    @property
    def control(self) -> str | None:
        """Where the control API is, if it was asked for."""
        return self._broker.control

    async def clear(self) -> None:
        """Forget every topic, group and connection and rotate the journal; the bootstrap address stays."""
        await asyncio.to_thread(self._broker.clear)

    async def _do(self, begin: Callable[[], Future[T]]) -> T:
        return await asyncio.wrap_future(begin())

    def _lasting(self, do: Callable[[], Later[None]], undo: Callable[[], Later[None]]) -> AsyncUndo:
        return AsyncUndo(do, undo)

    def _block(self, rule: dict[str, Any], must_fire: bool) -> AsyncFaultBlock:
        return AsyncFaultBlock(self, rule, must_fire)

    def _up(self) -> Running:
        return self._broker._up()

    def _on(self) -> asyncio.AbstractEventLoop:
        return self._broker._on()


def _topic_texts(topics: Topics) -> Iterable[str]:
    return (f"{name}:{partitions}" for name, partitions in topics.items()) if isinstance(topics, Mapping) else topics


def _by_kafka_name(by_keyword: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if not by_keyword:
        return []
    names = {setting.field: name for name, setting in all_settings().items()}
    unknown = sorted(set(by_keyword) - set(names))
    if unknown:
        raise ConfigError(f"Broker({unknown[0]}=...): no such setting; `groupmock config` lists them")
    return [(names[field], value) for field, value in by_keyword.items()]


def _missed(group: str, wanted: str, timeout: float, view: GroupView | None, running: Running) -> str:
    seen = None if view is None else f"it is {view.state} with {len(view.members)} members in generation {view.generation}"
    now = seen or "there is no such group"
    what, story = wanted or "existence", "\n".join(running.story(group))
    return f"group {group!r} did not reach {what} within {timeout:g} s: {now} (seed {running.seed})\n{story}"


__all__ = ["AsyncBroker", "Broker", "CannotStart", "GroupTimeout"]
