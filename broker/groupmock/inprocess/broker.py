"""The in-process Broker is a mock cluster on a thread and an event loop of its own.

A blocking `wait_for` therefore does not stop clients on other threads. Clients on the event loop of the caller's thread would stop, and
the broker warns about it. `with Broker(...) as broker` gives blocking calls, `async with Broker(...) as broker` the same names as
coroutines.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Unpack

import msgspec

from ..config.declared import all_settings
from ..config.resolve import ConfigError, resolve, settings_by_name
from ..journal.place import make_way
from ..net.loops import UnknownLoop, new_loop
from ..server.assembly import start
from ..server.running import Running
from ..text.suggest import did_you_mean
from .commands import Commands
from .data import Data
from .fault_rules import Faults
from .groups import Groups
from .values import PlanLike, as_plan

if TYPE_CHECKING:
    from ..control.server import Control
    from ..data.seed import SeedData
    from ..data.seed import Source as SeedSource
    from .async_broker import AsyncBroker
    from .setting_keywords import SettingKeywords

__tracebackhide__: Final = True
Topics = Mapping[str, int] | Iterable[str] | str
DEFAULTS: Final = {"port": 0, "log": "off"}
"""Options whose defaults differ from those of `groupmock serve`."""


class Broker(Groups, Data, Commands, Faults):
    """A mock Kafka cluster in this process.

    `topics` is {"orders": 12}, ["orders:12"] or "orders:12". `racks` has the rack of each node. `settings` has Kafka's names,
    {"group.max.size": 3}; keywords with underscores are the same: `group_max_size=3`. `nodes` (1), `profile` ("groupmock"), `host`
    ("127.0.0.1") and the others are the options of `groupmock serve`, but `port` is 0 (a free one) and `log` is "off". `advertise` is the
    address that clients are told; `bootstrap` stays the real one. `listeners` is {"OUTSIDE": "SASL_SSL://127.0.0.1:0"} in place of `host`
    and `port`; `users` maps names to passwords, `sasl="any"` accepts anybody, `oauth="signed"` wants signed bearer tokens, and `tls_cert`
    with `tls_key` replace the throw-away certificate (docs/how-to/secured-listeners.md). `journal` is a file, of at most
    `journal_max_bytes`, or a folder ("runs/") that gets a file for each run; `run` names the run in it.
    `plan` has fault rules. `seed_data` has topics, records, offsets
    and configs, as a file or its lines (docs/how-to/seed-and-read.md). `like` is HOST:PORT of a cluster to copy, with the newest
    `like_records` of each partition (docs/how-to/cluster.md). `audit` judges the clients (`Broker.audit`); `audit_waivers` is a file of
    findings that do not count. `control` is the port of the control API (docs/reference/control.md), 0 for a free one. `environment` has
    variables such as GROUPMOCK_NODES and GROUPMOCK_SET_GROUP_MAX_SIZE, which arguments overrule; pass os.environ to obey the process's
    own. Raises ConfigError for a bad value, BadPlan, BadSeedData, and CannotStart for a taken port.
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
        listeners: Mapping[str, str] | Iterable[str] = (),
        users: Mapping[str, str] | None = None,
        sasl: str | None = None,
        oauth: str | None = None,
        tls_dir: str | os.PathLike[str] | None = None,
        tls_cert: str | os.PathLike[str] | None = None,
        tls_key: str | os.PathLike[str] | None = None,
        tls_ca: str | os.PathLike[str] | None = None,
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
            "topic": topics, "seed": seed, "run": run, "nodes": nodes, "first-node-id": first_node_id, "racks": racks,
            "listener": listeners, "user": users or (), "sasl": sasl, "oauth": oauth, "tls-dir": tls_dir, "tls-cert": tls_cert,
            "tls-key": tls_key, "tls-ca": tls_ca, "profile": profile, "journal": journal,
            "journal-max-bytes": journal_max_bytes, "host": host, "port": port,
            "advertise": advertise, "log": log, "audit": audit, "audit-waivers": audit_waivers,
            "control": None if control is None else str(control), "token": token, "like": like, "like-records": like_records,
        }  # fmt: skip
        self._plan = as_plan(plan) if plan is not None else None
        if seed_data is not None and like is not None:
            raise ConfigError("seed_data and like: a cluster comes from lines or from another cluster, not from both")
        self._seed_data = _read_seed_data(seed_data) if seed_data is not None else None
        sets = [*_as_mapping(settings).items(), *_by_kafka_name(by_keyword)]
        self._config = resolve(flags, sets, environment=environment, defaults=DEFAULTS, place=_argument)
        if self._config.ignored:
            from ..config.ignored import in_words

            warnings.warn(in_words(self._config.ignored), stacklevel=2)
        self._journal = self._config.journal

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> AsyncBroker:
        from .async_broker import AsyncBroker

        await asyncio.to_thread(self.start)
        return AsyncBroker(self)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.stop)

    @property
    def control(self) -> str | None:
        """The URL of the control API, or None if it was not asked for."""
        self._up()
        return self._control.url if self._control is not None else None

    @property
    def start_settings(self) -> dict[str, Any]:
        """The value of every setting of this run by Kafka's name."""
        return settings_by_name(self._config)

    @property
    def journal(self) -> str | None:
        """The path of the journal's file, or None. After the end of a run, it is that run's file."""
        return self._up().journal if self._running is not None else self._journal

    def start(self, ports: Sequence[int] = ()) -> Broker:
        """Start serving and return once clients can connect. `ports`, one for each node, repeats the ports of an earlier start."""
        ready: Future[Running] = Future()
        # The thread is a daemon, so that a test run ends even if a test forgot `stop`.
        self._thread = threading.Thread(target=self._serve, args=(ready, ports), name="groupmock", daemon=True)
        self._thread.start()
        try:
            self._running = ready.result()
        except BaseException:
            self._thread.join()
            raise
        return self

    def stop(self) -> None:
        """Stop serving, close every connection and flush the journal. Raises the error of the journal, if there was one."""
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
        """Forget all topics, groups, rules and connections, and make those of the start again. The bootstrap address stays. The old
        journal is kept as FILE.1, FILE.2, ...; with `journal`, later rows go to that file instead."""
        ports, before = self._up().ports, self._config.journal
        if journal is not None:
            self._config = msgspec.structs.replace(self._config, journal=os.fspath(journal))
        # With a control API, the cluster is reset instead of stopped, so that the port of the API stays the same.
        if self._control is not None:
            asyncio.run_coroutine_threadsafe(self._control.context.reset(self._config), self._on()).result()
            return
        self.stop()
        if before is not None and before == self._config.journal:
            make_way(before)
        self.start(ports)

    def _up(self) -> Running:
        if self._running is None:
            raise RuntimeError("the broker is not running: use `with Broker(...) as broker` or broker.start()")
        return self._control.running if self._control is not None else self._running  # A reset replaces the `Running` object.

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
            # The seed data are kept, because `clear` applies them again, even if they were copied from another cluster.
            self._seed_data = running.seed_data
            if self._config.control is not None:
                from ..control.start import start_control

                self._control = await start_control(self._config, running, plan=self._plan)
        except BaseException as error:  # Any error at the start is passed to the thread that called start().
            ready.set_exception(error)
            return
        ready.set_result(running)
        await self._stop.wait()
        if self._control is not None:
            await self._control.close()
            running = self._control.running
        self._trouble_at_end = await running.close()


def _argument(option: str) -> str:
    """Return the name of the argument that sets an option, for errors."""
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
