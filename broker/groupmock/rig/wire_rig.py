"""The whole driver runs here without sockets, event loop or real time: bytes go in, bytes come out, and the clock moves only when the
caller moves it.

Decoding, one request at a time per connection, the core, fault rules, journal rows and encoding are real. Time is virtual, and the
transport is a list. Nothing happens in the background, so that two runs of a test write the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from groupmock_codec.units import NS_PER_MS

from ..config.limits import Limits
from ..core.events import Command
from ..core.identity import Listener
from ..core.ingredients import describe
from ..journal.journal import Journal, Sink
from ..journal.rows import END, VERSION, Header
from ..net.backlog import Backlog
from ..net.clock import VirtualClock
from ..net.connection import Connection
from ..net.driver import Driver
from ..net.slices import Slices
from ..net.turns import Turns
from ..version import __version__
from .making import PORT, Topics, core_of_profile, counted, make_config
from .unbuffered import Unbuffered
from .wire import ClientSide, frames_of

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..core.core import Core
    from ..net.secured import Secured

HOST: Final = "/127.0.0.1"
FIRST_PORT: Final = 40_000


class Wire(Unbuffered):
    """The client's side of a connection to a WireRig. `data` has the bytes that the server wrote and nobody has taken. `closed` says that
    the server closed the connection, and `reading` that it reads, because few enough bytes wait."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.reading = True
        self.side = ClientSide()
        self.connection: Connection

    def open(self, connection: Connection) -> None:
        """Attach this wire to a new connection of a driver."""
        self.connection = connection
        connection.connection_made(self)

    def send(self, data: bytes) -> None:
        """Pass bytes to the server in one piece. After the server has closed the connection they are lost, as on a socket."""
        if not self.closed:
            self.connection.data_received(data)

    def ask(self, key: int, version: int, message: Message | None = None, client_id: str | None = "rig") -> Any:
        """Send one request and return its answer. Raises AssertionError if the answer does not come at this moment."""
        self.side.client_id = client_id
        self.send(self.side.ask(key, version, message))
        frames = self.take()
        assert len(frames) == 1, f"{len(frames)} answers to one request"
        return self.side.pending.pop().read(frames[0])[1]

    def take(self) -> list[bytes]:
        """Return the frames that have arrived since the last call, without their lengths."""
        frames, self.data = frames_of(self.data)
        return frames

    def hang_up(self) -> None:
        """Close the client's side of the connection."""
        self.closed = True
        self.connection.connection_lost(None)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.closed:
            self.data += bytes(data)

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def rig_header(clock: VirtualClock, seed: int = 1, profile: str = "rig", run: str = "rig", config: dict[str, str] | None = None) -> Header:
    """Return the header of a rig's journal, which is the same for every run of a test."""
    product = f"groupmock {__version__}"
    return Header(
        v=VERSION, run=run, product=product, seed=seed, epoch_ns=clock.epoch_ns, profile=profile, config=config or {}, complete=False
    )


W = TypeVar("W", bound=Wire)


class WireRig:
    """A driver on a virtual clock. `WireRig.make` makes one from a profile and settings. `sinks` get the rows of the journal, whose
    first line is `header`. `parts` go to the driver: `tickets`, `alarm`, `backlog`, `slices`, `turns`."""

    drives: type[Driver] = Driver
    """The class of the driver, which a subclass of the rig may replace by a subclass."""

    def __init__(
        self,
        core: Core,
        *,
        clock: VirtualClock | None = None,
        sinks: Iterable[Sink] = (),
        header: Header | None = None,
        limits: Limits | None = None,
        **parts: Any,
    ) -> None:
        self.core = core
        self.clock = VirtualClock() if clock is None else clock
        self.journal = Journal(rig_header(self.clock) if header is None else header, list(sinks))
        parts.setdefault("backlog", Backlog(None))
        parts.setdefault("slices", Slices(None))
        parts.setdefault("turns", Turns(None))
        self.driver = self.drives(core, self.clock, self.journal, Limits() if limits is None else limits, **parts)
        self.journal.begin(partial(describe, core.environment))
        self._numbers = 0
        self.secured: Secured | None = None
        """The mechanisms and users of listeners with SASL, or None without any."""

    @classmethod
    def make(
        cls,
        *,
        profile: str | None = None,
        settings: Mapping[str, object] | None = None,
        seed: int = 1,
        nodes: int = 1,
        topics: Topics | None = None,
        sinks: Iterable[Sink] = (),
        listeners: Mapping[str, str] | None = None,
        users: Mapping[str, str] | None = None,
        any_user: bool = False,
        **parts: Any,
    ) -> WireRig:
        """Make a rig with a new cluster. `settings`: Kafka's names and values; `topics`: name -> partitions; `parts`: of the driver.
        `listeners` maps names to security protocols without TLS, `users` names to passwords; `any_user`: anybody may authenticate. Raises
        groupmock.ConfigError."""
        options = {"listener": {name: f"{protocol}://127.0.0.1:0" for name, protocol in (listeners or {}).items()}}
        config = make_config(profile, settings, **options, user=users or (), sasl="any" if any_user else None)
        endpoints = [
            Listener(each.name, each.protocol, 1 + node, "127.0.0.1", PORT + 100 * place + node)
            for node in range(nodes)
            for place, each in enumerate(config.listeners)
        ]
        core = core_of_profile(config.profile, config.settings, seed=seed, nodes=nodes, listeners=endpoints)
        clock = VirtualClock()
        rig = cls(core, clock=clock, sinks=sinks, header=rig_header(clock, seed, config.profile.name), limits=config.limits, **parts)
        if config.security is not None:
            from ..net.secured import Secured  # Most rigs have no secured listener.

            environment = core.environment
            rig.secured = Secured(config.security.listeners, core.cluster.credentials, environment.wall_ms, clock.now, any_user=any_user)
            for name, password in config.security.users.items():
                rig.command("set_user", name=name, password=str(password))
        for name, partitions in counted(topics, rig.core.environment.settings).items():
            rig.command("create_topic", name=name, partitions=partitions)
        return rig

    def connect(self, node: int = 1, listener: str | None = None) -> Wire:
        return self.plug(Wire(), node, listener=listener)

    def plug(self, wire: W, node: int = 1, host: str = HOST, listener: str | None = None) -> W:
        """Open a connection to a listener (None: the first one) of a node with this wire."""
        self._numbers += 1
        connection = Connection(self.driver, self._numbers, node, host, FIRST_PORT + self._numbers)
        if self.secured is not None:
            endpoints = self.core.environment.endpoints[node]
            endpoint = endpoints[listener] if listener is not None else next(iter(endpoints.values()))
            connection.listener = endpoint.name
            self.secured.protocol(connection, self.driver, endpoint.protocol)
        wire.open(connection)
        return wire

    def command(self, name: str, /, **arguments: Any) -> None:
        """Run a command, which steers the cluster or changes fault rules. Raises ValueError or LookupError, which say what is wrong."""
        self.driver.submit(Command(name, arguments))

    @property
    def now_ms(self) -> float:
        """The run time in ms, as a float."""
        return self.clock.now() / NS_PER_MS

    def sleep(self, ms: float) -> None:
        """Let time pass, firing each timer at its own time."""
        self.clock.advance(ms)

    def close(self) -> None:
        """Stop the driver and complete the journal."""
        self.driver.stop()
        self.journal.end(self.clock.now())
        self.driver.record.remark(END, self.clock.now())
        self.journal.close()
