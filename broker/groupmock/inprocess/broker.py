"""The in-process Broker: a mock cluster on a thread and an event loop of its own.

Clients on other threads are therefore served while a blocking `wait_for` waits; clients on the loop of the caller's thread stand still, and
it warns. `with Broker(...) as broker` gives blocking calls, `async with Broker(...) as broker` the same names as coroutines (`calls` says
how one method is both).
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import CoroutineType, TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, cast

import msgspec

from ..audit.verdicts import Audit
from ..config.resolve import ConfigError, all_settings, resolve, settings_by_name
from ..core.groups.view import GroupView
from ..data.log_record import Record
from ..journal.place import make_way
from ..journal.rows import RequestRow
from ..net.loops import UnknownLoop, new_loop
from ..server.assembly import start
from ..server.running import CannotStart, Running
from ..text.suggest import did_you_mean
from .both import GroupTimeout, InProcess
from .calls import Later, called, said
from .commands import AsyncLasting, AsyncUndo, Undo
from .fault_rules import AsyncFaultBlock, FaultBlock, FaultNotSeen, PlanLike, as_plan

if TYPE_CHECKING:
    from ..control.server import Control
    from ..core.steering.offsets import Reset  # noqa: F401  # bases name these in quotes: they are loaded when somebody asks
    from ..data.facts import ConfigRow, TopicFacts  # noqa: F401
    from ..data.lag import GroupLag  # noqa: F401
    from ..data.seed import SeedData, Seeded  # noqa: F401
    from ..data.seed import Source as SeedSource
    from ..data.transactions import TransactionDetails, TransactionRow  # noqa: F401
    from ..data.writing import Written  # noqa: F401
    from ..faults.registry import RuleReport  # noqa: F401  # bases name it in quotes: no rule, no registry
    from .setting_keywords import SettingKeywords

__tracebackhide__: Final = True
T = TypeVar("T")
Topics = Mapping[str, int] | Iterable[str] | str
BLOCKS: Final = (
    "{blocks} the event loop of this thread, so that clients on that loop {stand} still meanwhile: "
    "await groupmock_async.{name}(...), or that of AsyncBroker(broker)"
)
DEFAULTS: Final = {"port": 0, "log": "off"}
"""Options whose default is another one than that of `groupmock serve`."""


class Broker(
    InProcess[
        None,
        Undo,
        FaultBlock,
        str,
        list[str],
        int,
        "RuleReport",
        "list[RuleReport]",
        list[Record],
        GroupView,
        dict[str, GroupView],
        Audit,
        "dict[str, TopicFacts]",
        "dict[str, ConfigRow]",
        "GroupLag",
        "list[Reset]",
        "list[Written]",
        "Seeded",
        "dict[str, TransactionRow]",
        "TransactionDetails",
        list[RequestRow],
    ]
):
    """A mock Kafka cluster in this process.

    `topics`: {"orders": 12}, ["orders:12"] or "orders:12"; `racks`: of each node; `settings`: Kafka's names, {"group.max.size": 3}; the
    same as keywords with underscores: `group_max_size=3`. `nodes` (1), `profile` ("groupmock"), `host` ("127.0.0.1") and the others: as
    the options of `groupmock serve`, but `port`: 0, which is a free one, and `log`: "off". `advertise`: the address that clients are told
    to connect to, which `bootstrap` is not. `journal`: a file, of at most `journal_max_bytes`, or a folder ("runs/"), where each run gets
    one of its own; `run`: what it calls this run;
    `plan`: fault rules from the start; `seed_data`: topics, records, offsets and configs from the start, a file or its
    lines (docs/how-to/seed-and-read.md); `like`: HOST:PORT of a cluster to copy them from, with the newest `like_records`
    of each partition (docs/how-to/cluster.md); `audit`: judge the clients (`Broker.audit`), `audit_waivers`: a file of
    findings that do not count; `control`: serve the control API (docs/reference/control.md) on that port, 0 for
    a free one; `environment`: variables that are obeyed, as `groupmock serve` obeys GROUPMOCK_NODES and GROUPMOCK_SET_GROUP_MAX_SIZE,
    where an argument does not say otherwise: os.environ, none without it. Raises ConfigError for a bad value, BadPlan, BadSeedData,
    CannotStart for a taken port.
    """

    _thread: threading.Thread | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _running: Running | None = None
    _control: Control | None = None
    _stop: asyncio.Event | None = None
    _trouble_at_end: Exception | None = None

    def __init__(
        self,
        topics: Topics = (),
        *,
        seed: int | None = None,
        run: str | None = None,
        nodes: int | None = None,
        first_node_id: int | None = None,
        racks: Iterable[str] = (),
        profile: str | None = None,
        journal: str | os.PathLike[str] | None = None,
        journal_max_bytes: int | None = None,
        host: str | None = None,
        port: int | None = None,
        advertise: str | None = None,
        log: str | None = None,
        plan: PlanLike | None = None,
        seed_data: SeedSource | None = None,
        like: str | None = None,
        like_records: int | None = None,
        audit: bool | None = None,
        audit_waivers: str | os.PathLike[str] | None = None,
        control: int | str | None = None,
        token: str | None = None,
        settings: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
        **by_keyword: Unpack[SettingKeywords],
    ) -> None:
        flags = {
            "topic": topics,
            "seed": seed,
            "run": run,
            "nodes": nodes,
            "first-node-id": first_node_id,
            "racks": racks,
            "profile": profile,
            "journal": journal,
            "journal-max-bytes": journal_max_bytes,
            "host": host,
            "port": port,
            "advertise": advertise,
            "log": log,
            "audit": audit,
            "audit-waivers": audit_waivers,
            "control": None if control is None else str(control),
            "token": token,
            "like": like,
            "like-records": like_records,
        }
        self._plan = as_plan(plan) if plan is not None else None
        if seed_data is not None and like is not None:
            raise ConfigError("seed_data and like: a cluster comes from lines or from another cluster, not from both")
        self._seed_data = _read_seed_data(seed_data) if seed_data is not None else None
        sets = [*_as_mapping(settings).items(), *_by_kafka_name(by_keyword)]
        self._config = resolve(flags, sets, environment=environment, defaults=DEFAULTS, place=_argument)
        self._journal = self._config.journal

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
        """The journal's file, if there is one; of the last run, once it is over."""
        return self._up().journal if self._running is not None else self._journal

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
        self._journal = self.journal
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = self._loop = self._running = self._control = None
        if self._trouble_at_end is not None:
            trouble, self._trouble_at_end = self._trouble_at_end, None
            raise trouble

    def clear(self, journal: str | os.PathLike[str] | None = None) -> None:
        """Forget every topic, group, rule and connection; what the start made is made again, and the bootstrap address stays. The journal
        so far is kept as FILE.1, FILE.2, ...; with `journal` what comes goes to that file instead."""
        ports, before = self._up().ports, self._config.journal
        if journal is not None:
            self._config = msgspec.structs.replace(self._config, journal=os.fspath(journal))
        if self._control is not None:  # it stays where it is
            asyncio.run_coroutine_threadsafe(self._control.context.reset(self._config), self._on()).result()
            return
        self.stop()
        if before is not None and before == self._config.journal:
            make_way(before)
        self.start(ports)

    def _do(self, begin: Callable[[], Future[T]]) -> T:
        done = begin()
        if (error := done.exception()) is not None:
            raise said(error)
        return done.result()

    def _wait(self, begin: Callable[[], Future[T]]) -> T:
        """Warn where that stops an event loop, because what is waited for cannot happen if the clients run on that loop."""
        if not _on_a_loop():
            return self._do(begin)
        name, level = called()
        warnings.warn(f"{name}(...) {BLOCKS.format(blocks='blocks', stand='stand', name=name)}", RuntimeWarning, level)
        try:
            return self._do(begin)
        except (GroupTimeout, FaultNotSeen) as late:
            cause = f"likely cause: {name}(...) {BLOCKS.format(blocks='blocked', stand='stood', name=name)}"
            late.args = (_with_cause(str(late), cause),)
            if isinstance(late, GroupTimeout):
                late.missed = _with_cause(late.missed, cause)
            raise late from None

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
            running = await start(self._config, ports=ports, stories=True, plan=self._plan, seed_data=self._seed_data)
            self._seed_data = running.seed_data  # what was copied of another cluster comes back with `clear`, too
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
        Later[None],
        AsyncLasting,
        AsyncFaultBlock,
        Later[str],
        Later[list[str]],
        Later[int],
        Later["RuleReport"],
        Later["list[RuleReport]"],
        Later[list[Record]],
        Later[GroupView],
        Later[dict[str, GroupView]],
        Later[Audit],
        Later["dict[str, TopicFacts]"],
        Later["dict[str, ConfigRow]"],
        Later["GroupLag"],
        Later["list[Reset]"],
        Later["list[Written]"],
        Later["Seeded"],
        Later["dict[str, TransactionRow]"],
        Later["TransactionDetails"],
        Later[list[RequestRow]],
    ]
):
    """The same names as `Broker`: a property is a property here too, a method a method, and whatever `Broker` asks the cluster for is a
    coroutine: `await broker.produce(...)`, `(await broker.groups)["kitchen"]`. Nothing happens before it is awaited; one that is dropped
    instead is a RuntimeWarning with its name, and an error for mypy (unused-coroutine; of what may be a block: unused-awaitable) and
    pyright (reportUnusedCoroutine).
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def __aenter__(self) -> AsyncBroker:
        return await self.start()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()

    @property
    def control(self) -> str | None:
        """Where the control API is, if it was asked for."""
        return self._broker.control

    @property
    def start_settings(self) -> dict[str, Any]:
        """Kafka name -> value of every setting of this run."""
        return self._broker.start_settings

    @property
    def journal(self) -> str | None:
        """The journal's file, if there is one."""
        return self._broker.journal

    async def start(self, ports: Sequence[int] = ()) -> AsyncBroker:
        """Start serving; returns once clients can connect. `ports`: one per node, where they must be those of an earlier start."""
        await asyncio.to_thread(self._broker.start, ports)
        return self

    async def stop(self) -> None:
        """Stop serving, close every connection, flush the journal. Raises what went wrong with the journal."""
        await asyncio.to_thread(self._broker.stop)

    async def clear(self, journal: str | os.PathLike[str] | None = None) -> None:
        """Forget every topic, group, rule and connection; what the start made is made again, and the bootstrap address stays. The journal
        so far is kept as FILE.1, FILE.2, ...; with `journal` what comes goes to that file instead."""
        await asyncio.to_thread(self._broker.clear, journal)

    def _do(self, begin: Callable[[], Future[T]]) -> Later[T]:
        return _named(self, _awaited(begin))

    def _lasting(self, do: Callable[[], Later[None]], undo: Callable[[], Later[None]]) -> AsyncLasting:
        return AsyncLasting(_named(self, _done(do, undo)))

    def _block(self, rule: dict[str, Any], must_fire: bool) -> AsyncFaultBlock:
        return AsyncFaultBlock(self, rule, must_fire)

    def _up(self) -> Running:
        return self._broker._up()

    def _on(self) -> asyncio.AbstractEventLoop:
        return self._broker._on()


async def _awaited(begin: Callable[[], Future[T]]) -> T:
    try:
        return await asyncio.wrap_future(begin())
    except Exception as error:
        raise said(error)  # noqa: B904  # the same error, not one more


async def _done(do: Callable[[], Later[None]], undo: Callable[[], Later[None]]) -> AsyncUndo:
    await do()
    return AsyncUndo(undo)


def _named(twin: AsyncBroker, coroutine: Later[T]) -> Later[T]:
    """Called as what the user called, so that "coroutine '...' was never awaited" names that."""
    cast("CoroutineType[Any, Any, T]", coroutine).__qualname__ = f"{type(twin).__name__}.{called()[0]}"
    return coroutine


def _argument(option: str) -> str:
    """What an error calls the argument that sets an option."""
    return f"Broker({ {'topic': 'topics', 'set': 'settings'}.get(option, option).replace('-', '_') }=...)"


def _as_mapping(settings: object) -> Mapping[str, Any]:
    if settings is not None and not isinstance(settings, Mapping):
        raise ConfigError(f'Broker(settings=...): Kafka\'s names with their values, {{"group.max.size": 3}}, not {settings!r}')
    return settings or {}


def _read_seed_data(source: SeedSource) -> SeedData:
    from ..data.seed import read_seed_data

    return read_seed_data(source)


def _by_kafka_name(by_keyword: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if not by_keyword:
        return []
    names = {setting.field: name for name, setting in all_settings().items()}
    for keyword in by_keyword:
        if keyword not in names:
            known = [*names, *inspect.signature(Broker).parameters]
            raise ConfigError(f"Broker({keyword}=...): no such argument: {did_you_mean(keyword, known) or '`groupmock config` lists them'}")
    return [(names[field], value) for field, value in by_keyword.items()]


def _with_cause(told: str, cause: str) -> str:
    """With the cause behind the first line."""
    sentence, end, rest = told.partition("\n")
    return f"{sentence}\n{cause}{end}{rest}"


def _on_a_loop() -> bool:
    """Does the caller's thread run an event loop? Asked here, so that no error of the wait has this one as its context."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


__all__ = ["AsyncBroker", "Broker", "CannotStart", "GroupTimeout"]
