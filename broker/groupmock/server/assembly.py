"""Start a cluster from a configuration: sockets, core, journal and server."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from groupmock_codec.units import NS_PER_MS

from ..config.advertise import identity_of
from ..config.resolve import Config, settings_by_name
from ..core.core import core_of
from ..core.events import Command
from ..core.identity import Identity
from ..journal.journal import Journal
from ..journal.place import placed
from ..journal.rows import VERSION, Header
from ..net.clock import Clock, LoopClock
from ..net.server import Server
from ..version import __version__
from .node_sockets import close, doors_of, listeners_at, node_at, open_doors
from .running import CannotStart, Running

if TYPE_CHECKING:
    import socket

    from ..audit.sink import AuditSink
    from ..audit.waivers import Waivers
    from ..data.seed import SeedData
    from ..faults.plan import Plan
    from ..journal.ring import Ring
    from ..security.token_issuer import TokenIssuer
    from .securing import TlsOfRun

    Sockets = dict[int, dict[str, socket.socket]]
    """The sockets of each node, by the names of its listeners."""

RING_BYTES: Final = 8 * 1024 * 1024


async def start(
    config: Config,
    on_failure: Callable[[], None] | None = None,
    ports: Sequence[int] = (),
    stories: bool = False,
    plan: Plan | None = None,
    seed_data: SeedData | None = None,
    issuer: TokenIssuer | None = None,
) -> Running:
    """Start a cluster on the running event loop. Raises CannotStart, BadPlan, BadSeedData. `on_failure` is called when the journal
    cannot be written any more. `ports`, one for each listener of each node, replaces those of
    the configuration. `plan` and `seed_data` replace those of `config`. `issuer` signed the tokens before a reset.
    `stories`: keep recent rows in memory for `Running.story`; without a reader of stories this would build a row for every join in vain."""
    plan = _read_plan(config) if plan is None else plan
    seed_data, not_copied = (await _read_seed_data(config)) if seed_data is None else (seed_data, [])
    waivers = _read_waivers(config)
    seed = _seed(config, plan)
    # The sockets are bound first, because the identity has their ports, and a port of 0 is unknown until it is bound.
    tls = _tls(config) if config.security is not None else None
    listeners = _listen(config, ports, tls)
    clock = LoopClock()
    # The cluster's identity and the core each have a random source of their own, because a replay takes the identity from the header, and
    # the core must draw the same ids nevertheless.
    identity = _identity(config, listeners, Random(seed))
    core = core_of(config.settings, identity, Random(seed), clock.epoch_ns // NS_PER_MS)
    ring = _ring() if stories else None
    journal = Journal(partial(_header, config, identity, seed, clock))
    server = Server(core, clock, journal, config.limits)
    if config.security is not None:
        issuer = _secure(server, config, listeners, tls, issuer)

    def failed(reason: str) -> None:
        server.fail(reason)
        if on_failure is not None:
            on_failure()

    path = config.journal
    try:
        if ring is not None:
            journal.add(ring)
        if path is not None:
            path = placed(path, journal.header.run)
            _add_file(server, path, config.journal_max_bytes, failed)
        _add_log(server, config.log)
        await server.start({node: next(iter(sockets.values())) for node, sockets in listeners.items()})
    except OSError as failure:
        _close_all(listeners, tls)
        raise CannotStart(f"cannot write the journal {path}: {failure.strerror}") from None
    # No client has been accepted when the audit is added, because accepting takes a turn of the loop.
    audit_sink = _audit(server, waivers) if config.audit else None
    bound = _listen_on_others(server, listeners)
    running = Running(config, core, server, clock, seed, ring, bound, audit_sink, path, tls, issuer)
    try:
        _furnish(running, seed_data, not_copied, plan)
    except ValueError:  # BadSeedData or BadPlan means that the cluster cannot have what the seed data or the fault plan names.
        await running.close()
        raise
    return running


def _furnish(running: Running, seed_data: SeedData | None, not_copied: list[str], plan: Plan | None) -> None:
    """Create the topics, seed data and fault rules of the start before the first client comes. This is done by commands, which are rows
    that a replay repeats."""
    config = running.config
    if config.security is not None and config.security.users:
        from ..core.steering.users import SET_USER

        for name, password in config.security.users.items():
            running.submit(Command(SET_USER, {"name": name, "password": str(password)}))
    if config.topics:
        # The command is imported from its own module, because a start needs no other commands.
        from ..core.steering.topics import CREATE_TOPIC

        for topic in config.topics:
            running.submit(Command(CREATE_TOPIC, {"name": topic.name, "partitions": topic.partitions or config.settings.num_partitions}))
    if seed_data is not None:
        running.seed_data = seed_data
        seed_data.apply(running)
        running.not_copied = not_copied
    if plan is not None:
        running.load_plan(plan, config.plan or "the plan")


def _ring() -> Ring:
    from ..journal.ring import Ring

    return Ring(RING_BYTES)


def _read_plan(config: Config) -> Plan | None:
    if config.plan is None:
        return None
    from ..faults.plan import read_plan

    return read_plan(config.plan)


async def _read_seed_data(config: Config) -> tuple[SeedData | None, list[str]]:
    """Read the seed data of the configuration, or copy the cluster that it names. The second value names what was not copied, one
    sentence for each reason."""
    if config.seed_data is not None:
        from ..data.seed import read_seed_data

        return read_seed_data(config.seed_data), []
    if config.like is not None:
        from ..data.seed import seed_data_of
        from ..like.fetch import copied_for

        lines, not_copied = await copied_for(config, config.like)
        return seed_data_of(lines, f"--like {config.like.address}"), not_copied
    return None, []


def _read_waivers(config: Config) -> Waivers | None:
    if config.audit_waivers is None:
        return None
    from datetime import date

    from ..audit.waivers import BadWaivers, read_waivers

    try:
        return read_waivers(config.audit_waivers, date.today())
    except OSError as trouble:
        raise BadWaivers(f"cannot read the waivers {config.audit_waivers}: {trouble.strerror}") from None


def _audit(server: Server, waivers: Waivers | None) -> AuditSink:
    from ..audit.sink import AuditSink
    from ..net.beats import Beats
    from ..net.clock import ClockAlarm

    audit_sink = AuditSink(server.journal, Beats(server.driver.connections), ClockAlarm(server.clock), server.clock.now, waivers)
    server.journal.add(audit_sink)
    return audit_sink


def _seed(config: Config, plan: Plan | None) -> int:
    """Return the configured seed, or else the plan's seed, or else a random one."""
    if config.seed is not None:
        return config.seed
    return plan.seed if plan is not None and plan.seed is not None else int.from_bytes(os.urandom(6), "big")


def _tls(config: Config) -> TlsOfRun | None:
    from .securing import CannotSecure, tls_of

    try:
        return tls_of(config)
    except CannotSecure as trouble:
        raise CannotStart(str(trouble)) from None


def _secure(
    server: Server, config: Config, sockets: Sockets, tls: TlsOfRun | None, issuer: TokenIssuer | None
) -> TokenIssuer | None:
    """Give a server what its secured listeners need, and return what signs tokens."""
    from .securing import CannotSecure, issuer_of, secured_of

    try:
        issuer = issuer or issuer_of(config)
        server.secured = secured_of(config, server.core, server.clock, tls, issuer)
    except CannotSecure as trouble:
        _close_all(sockets, tls)
        raise CannotStart(str(trouble)) from None
    return issuer


def _listen(config: Config, ports: Sequence[int], tls: TlsOfRun | None) -> Sockets:
    listeners: Sockets = {}
    each_node = len(doors_of(config))
    for place in range(config.nodes):
        node = config.first_node_id + place
        try:
            listeners[node] = open_doors(config, node, ports[place * each_node : (place + 1) * each_node])
        except OSError as failure:
            _close_all(listeners, tls)
            raise CannotStart(str(failure)) from None
    return listeners


def _listen_on_others(server: Server, listeners: Sockets) -> list[int]:
    """Accept connections to all listeners but the first one of each node, and return the ports of all listeners."""
    for node, sockets in listeners.items():
        for name, listener in list(sockets.items())[1:]:
            server.listen_for(node, listener, name)
    return [listener.getsockname()[1] for sockets in listeners.values() for listener in sockets.values()]


def _close_all(listeners: Sockets, tls: TlsOfRun | None) -> None:
    """Leave nothing open of a cluster that could not start."""
    for sockets in listeners.values():
        close(sockets)
    if tls is not None:
        tls.remove()


def _identity(config: Config, listeners: Sockets, random: Random) -> Identity:
    racks = dict(enumerate(config.racks, config.first_node_id))
    nodes = [node_at(config, node, sockets, racks.get(node)) for node, sockets in listeners.items()]
    named = [each for node, sockets in listeners.items() for each in listeners_at(config, node, sockets)] if config.listeners else []
    return identity_of(config.profile, config.settings, _cluster_id(random), nodes, _limits(config), named)


def _limits(config: Config) -> tuple[tuple[str, str], ...]:
    """Return the limits of the sockets and the settings of secured listeners by Kafka's names, for DescribeConfigs."""
    from ..config.declared import settings_of

    sources = [config.limits] if config.security is None else [config.limits, config.security.settings]
    return tuple((name, str(getattr(each, setting.field))) for each in sources for name, setting in settings_of(type(each)).items())


def _cluster_id(random: Random) -> str:
    """Return a cluster id like Kafka's: a UUID in URL-safe base64 without padding, 22 characters."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(random.randbytes(16)).decode().rstrip("=")


def _header(config: Config, identity: Identity, seed: int, clock: Clock) -> Header:
    return Header(
        v=VERSION,
        run=config.run if config.run is not None else f"{seed:x}",
        product=f"groupmock {__version__}",
        seed=seed,
        epoch_ns=clock.epoch_ns,
        profile=config.profile.name,
        config=settings_by_name(config),
        complete=False,
        incomplete_because="not a replayable run",
        cluster={"nodes": [node._asdict() for node in identity.nodes], "cluster_id": identity.cluster_id},
    )


def _add_file(server: Server, path: str, max_bytes: int | None, failed: Callable[[str], None]) -> None:
    from ..journal.file import FileSink
    from ..journal.rows import LEFT_OUT

    def full(first: int) -> None:
        server.driver.record.remark(LEFT_OUT, server.clock.now(), journal=path, first=first, max_bytes=max_bytes)

    server.journal.add(FileSink(path, failed, max_bytes, full))


def _add_log(server: Server, log: str) -> None:
    if log != "off":
        from ..net.clock import ClockAlarm
        from ..watch.log import LogSink

        server.journal.add(LogSink(log, ClockAlarm(server.clock), server.clock.now))
