"""The in-process Broker: a mock cluster on a thread and an event loop of its own.

A blocking `wait_for` therefore never freezes a client that runs on the test's loop. `with Broker(...) as broker` gives blocking
calls, `async with Broker(...) as broker` the same names as coroutines.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from .assembly import CannotStart, Running, settings_by_name, start, start_control
from .config import ConfigError, all_settings, resolve
from .core.events import Command
from .faulted import AsyncFaulted, Faulted, PlanLike, as_plan
from .net.loops import UnknownLoop, new_loop
from .steered import AsyncSteered, Steered
from .views import GroupView, Record, view_group

if TYPE_CHECKING:
    from .control.server import Control

T = TypeVar("T")
Topics = Mapping[str, int] | Iterable[str]


class GroupTimeout(AssertionError):
    """A group did not get where a test wanted it in time. The text has what was wanted, what is, and the group's story."""


class Broker(Faulted, Steered):
    """A mock Kafka cluster in this process.

    `topics`: {"orders": 12} or ["orders:12"]; `settings`: Kafka's names, {"group.max.size": 3}; the same as keywords with
    underscores: `group_max_size=3`. `journal`: a file; `run`: what it calls this run; `plan`: fault rules from the start;
    `control`: serve the control API (docs/reference/control.md) on that port, 0 for a free one. Raises ConfigError for a bad value,
    CannotStart for a taken port.
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
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: str | None = None,
        log: str = "off",
        plan: PlanLike | None = None,
        control: int | str | None = None,
        token: str | None = None,
        settings: Mapping[str, Any] | None = None,
        **knobs: Any,
    ) -> None:
        flags = {
            "topic": tuple(_topic_texts(topics)),
            "seed": seed,
            "run": run,
            "nodes": nodes,
            "profile": profile,
            "journal": journal,
            "host": host,
            "port": port,
            "advertise": advertise,
            "log": log,
            "control": None if control is None else str(control),
            "token": token,
        }
        self._plan = as_plan(plan) if plan is not None else None
        self._config = resolve(flags, [*(settings or {}).items(), *_by_kafka_name(knobs)])
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
    def bootstrap(self) -> str:
        """`host:port` of every node, comma separated: what clients take as bootstrap servers."""
        return self._up().bootstrap

    @property
    def control(self) -> str | None:
        """Where the control API is, if it was asked for."""
        self._up()
        return self._control.url if self._control is not None else None

    @property
    def seed(self) -> int:
        """The seed of this run's ids: give it to `Broker(seed=...)` to draw the same again."""
        return self._up().seed

    @property
    def start_settings(self) -> dict[str, Any]:
        """Kafka name -> value of every setting of this run."""
        return settings_by_name(self._config)

    @property
    def journal(self) -> str | None:
        """The journal's file, if there is one."""
        return self._config.journal

    @property
    def groups(self) -> dict[str, GroupView]:
        """Every group by id, as it is now."""
        return self._call(lambda: {group.group_id: view_group(group) for group in self._up().cluster.coordinators.groups()})

    def start(self, ports: Sequence[int] = ()) -> Broker:
        """Start serving; returns once clients can connect. `ports`: one per node, where they must be those of an earlier start."""
        ready: Future[Running] = Future()
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

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic. ValueError when it exists or the name is none."""
        self._command("create_topic", name=name, partitions=partitions)

    def grow_topic(self, name: str, partitions: int) -> None:
        """Raise a topic's number of partitions to `partitions`."""
        self._command("grow_topic", name=name, partitions=partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and the offsets committed for it."""
        self._command("delete_topic", name=name)

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        partition: int = 0,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
    ) -> int:
        """Append one record on the server's side; returns its offset. `timestamp`: ms since 1970, default now."""
        return self._call(lambda: self._up().produce(topic, partition, key, value, list(headers), timestamp))

    def client_says(self, client: str, what: str, /, **fields: Any) -> None:
        """Journal a `client` row: what a client says about itself. Does not wait; rows of one caller keep their order. TypeError if
        JSON has no word for something in `fields`."""
        msgspec.json.encode(fields)  # here and not when the row is written, where nobody would hear of it
        self._on().call_soon_threadsafe(self._up().server.client_says, client, what, fields)

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """The records of a topic (or of one partition), by partition and offset."""
        return self._call(lambda: self._up().records(topic, partition))

    def story(self, group: str) -> str:
        """What happened to a group, a line an event, oldest first."""
        return self._call(lambda: self._up().story(group))

    def wait_for(
        self,
        group: str,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        timeout: float = 10.0,
    ) -> GroupView:
        """Block until the group is in `state` with that many members and at least that generation. GroupTimeout tells the story."""
        return self._wait(group, state, members, generation, timeout).result()

    def _wait(self, group: str, state: str | None, members: int | None, generation: int | None, timeout: float) -> Future[GroupView]:
        def reached(view: GroupView | None) -> bool:
            return (
                view is not None
                and state in (None, view.state)
                and members in (None, len(view.members))
                and (generation is None or view.generation >= generation)
            )

        wanted = ", ".join(
            f"{name} {value}"
            for name, value in (("state", state), ("members", members), ("generation at least", generation))
            if value is not None
        )
        return asyncio.run_coroutine_threadsafe(self._reach(group, reached, wanted, timeout), self._on())

    async def _reach(self, group: str, reached: Callable[[GroupView | None], bool], wanted: str, timeout: float) -> GroupView:
        running = self._up()
        changed = asyncio.Event()
        end = asyncio.get_running_loop().time() + timeout
        with running.watching(changed.set):
            while True:
                changed.clear()
                found = running.cluster.coordinators.find(group)
                view = view_group(found) if found is not None else None
                if view is not None and reached(view):
                    return view
                try:
                    async with asyncio.timeout_at(end):
                        await changed.wait()
                except TimeoutError:
                    raise GroupTimeout(_missed(group, wanted, timeout, view, running)) from None

    def _send(self, command: str, **arguments: Any) -> Future[None]:
        def submit() -> None:
            self._up().submit(Command(command, arguments))

        return self._post(submit)

    def _call(self, function: Callable[[], T]) -> T:
        return self._post(function).result()

    def _post(self, function: Callable[[], T]) -> Future[T]:
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(function())
            except BaseException as error:  # belongs to the caller's thread
                done.set_exception(error)

        self._on().call_soon_threadsafe(run)
        return done

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
            self._control = await self._serve_control(running)
        except BaseException as error:  # belongs to the thread that called start()
            ready.set_exception(error)
            return
        ready.set_result(running)
        await self._stop.wait()
        if self._control is not None:
            await self._control.close()
            running = self._control.running
        self._trouble_at_end = await running.close()

    async def _serve_control(self, running: Running) -> Control | None:
        try:
            return await start_control(self._config, running, plan=self._plan)
        except CannotStart:
            await running.close()
            raise


class AsyncBroker(AsyncFaulted, AsyncSteered):
    """The same names as `Broker`, as coroutines where `Broker` blocks."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node, comma separated."""
        return self._broker.bootstrap

    @property
    def control(self) -> str | None:
        """Where the control API is, if it was asked for."""
        return self._broker.control

    @property
    def seed(self) -> int:
        """The seed of this run's ids."""
        return self._broker.seed

    @property
    def groups(self) -> dict[str, GroupView]:
        """Every group by id, as it is now (blocks for a turn of the server's loop)."""
        return self._broker.groups

    async def create_topic(self, name: str, partitions: int = 1) -> None:
        """See Broker.create_topic."""
        await asyncio.to_thread(self._broker.create_topic, name, partitions)

    async def grow_topic(self, name: str, partitions: int) -> None:
        """See Broker.grow_topic."""
        await asyncio.to_thread(self._broker.grow_topic, name, partitions)

    async def delete_topic(self, name: str) -> None:
        """See Broker.delete_topic."""
        await asyncio.to_thread(self._broker.delete_topic, name)

    async def produce(self, topic: str, value: bytes | None, key: bytes | None = None, partition: int = 0, **more: Any) -> int:
        """See Broker.produce."""
        return await asyncio.to_thread(self._broker.produce, topic, value, key, partition, **more)

    async def client_says(self, client: str, what: str, /, **fields: Any) -> None:
        """See Broker.client_says."""
        self._broker.client_says(client, what, **fields)

    async def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """See Broker.records."""
        return await asyncio.to_thread(self._broker.records, topic, partition)

    async def story(self, group: str) -> str:
        """See Broker.story."""
        return await asyncio.to_thread(self._broker.story, group)

    async def clear(self) -> None:
        """See Broker.clear."""
        await asyncio.to_thread(self._broker.clear)

    async def wait_for(
        self, group: str, state: str | None = None, members: int | None = None, generation: int | None = None, timeout: float = 10.0
    ) -> GroupView:
        """See Broker.wait_for."""
        return await asyncio.wrap_future(self._broker._wait(group, state, members, generation, timeout))

    def _send(self, command: str, **arguments: Any) -> Future[None]:
        return self._broker._send(command, **arguments)

    def _blocking(self) -> Broker:
        return self._broker


def _topic_texts(topics: Topics) -> Iterable[str]:
    return (f"{name}:{partitions}" for name, partitions in topics.items()) if isinstance(topics, Mapping) else topics


def _by_kafka_name(knobs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if not knobs:
        return []
    names = {setting.field: name for name, setting in all_settings().items()}
    unknown = sorted(set(knobs) - set(names))
    if unknown:
        raise ConfigError(f"Broker({unknown[0]}=...): no such setting; `groupmock config` lists them")
    return [(names[field], value) for field, value in knobs.items()]


def _missed(group: str, wanted: str, timeout: float, view: GroupView | None, running: Running) -> str:
    seen = None if view is None else f"it is {view.state} with {len(view.members)} members in generation {view.generation}"
    now = seen or "there is no such group"
    what = wanted or "existence"
    return f"group {group!r} did not reach {what} within {timeout:g} s: {now} (seed {running.seed})\n{running.story(group)}"


__all__ = ["AsyncBroker", "Broker", "CannotStart", "GroupTimeout"]
