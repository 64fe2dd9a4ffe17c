"""The whole driver without sockets, loop or real time: bytes in, bytes out, a clock that moves when it is told to.

What is real: decoding, one request at a time per connection, the core, fault rules, journal rows, encoding. What is not: the transport,
which is a list, and time. Nothing happens behind the caller's back, so that two runs of one test write the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from groupmock_codec.units import NS_PER_MS

from ..config.limits import Limits
from ..core.events import Command
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
from .making import Topics, core_of_profile, counted, make_config
from .unbuffered import Unbuffered
from .wire import ClientSide, frames_of

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..core.core import Core

HOST: Final = "/127.0.0.1"
FIRST_PORT: Final = 40_000


class Wire(Unbuffered):
    """A client's side of one connection to a WireRig. `data`: what the server has written and nobody has taken; `closed`: by the server;
    `reading`: does the server read, or are there too many bytes waiting?"""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.closed = False
        self.reading = True
        self.side = ClientSide()
        self.connection: Connection

    def open(self, driver: Driver, number: int, node: int, host: str, port: int) -> None:
        """Be a connection of this driver."""
        self.connection = Connection(driver, number, node, host, port)
        self.connection.connection_made(self)

    # -- the client's side

    def send(self, data: bytes) -> None:
        """These bytes arrive, in one piece. Bytes behind the server's closing are lost, as on a socket."""
        if not self.closed:
            self.connection.data_received(data)

    def ask(self, key: int, version: int, message: Message | None = None, client_id: str | None = "rig") -> Any:
        """Send one request and take its answer. AssertionError when there is none at this moment."""
        self.side.client_id = client_id
        self.send(self.side.ask(key, version, message))
        frames = self.take()
        assert len(frames) == 1, f"{len(frames)} answers to one request"
        return self.side.pending.pop().read(frames[0])[1]

    def take(self) -> list[bytes]:
        """The frames that came since the last time, without their lengths."""
        frames, self.data = frames_of(self.data)
        return frames

    def hang_up(self) -> None:
        """The client closes its side."""
        self.closed = True
        self.connection.connection_lost(None)

    # -- what the connection calls

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """asyncio's: whole answers, perhaps several."""
        if not self.closed:
            self.data += bytes(data)

    def close(self) -> None:
        """asyncio's: by the server."""
        self.closed = True

    def abort(self) -> None:
        """asyncio's: the same, without farewell."""
        self.closed = True

    def is_closing(self) -> bool:
        """asyncio's."""
        return self.closed

    def pause_reading(self) -> None:
        """asyncio's: too much waits."""
        self.reading = False

    def resume_reading(self) -> None:
        """asyncio's."""
        self.reading = True


def rig_header(clock: VirtualClock, seed: int = 1, profile: str = "rig", run: str = "rig", config: dict[str, str] | None = None) -> Header:
    """The first line of a rig's journal; the same for every run of one test."""
    product = f"groupmock {__version__}"
    return Header(
        v=VERSION, run=run, product=product, seed=seed, epoch_ns=clock.epoch_ns, profile=profile, config=config or {}, complete=False
    )


W = TypeVar("W", bound=Wire)


class WireRig:
    """A driver on a virtual clock. `WireRig.make` makes one of a profile and settings. `sinks` get the journal's rows; `header`: the
    journal's; `parts` go to the driver: `tickets`, `alarm`, `backlog`, `slices`, `turns`."""

    drives: type[Driver] = Driver
    """What drives; a subclass of the rig may have one of the driver."""

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
        self.journal.begin(describe(core.environment))
        self._numbers = 0

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
        **parts: Any,
    ) -> WireRig:
        """A fresh cluster. `settings`: Kafka's names and values; `topics`: name -> partitions; `parts`: of the driver.

        Raises groupmock.ConfigError.
        """
        config = make_config(profile, settings)
        core, clock = core_of_profile(config.profile, config.settings, seed=seed, nodes=nodes), VirtualClock()
        rig = cls(core, clock=clock, sinks=sinks, header=rig_header(clock, seed, config.profile.name), limits=config.limits, **parts)
        for name, partitions in counted(topics, rig.core.environment.settings).items():
            rig.command("create_topic", name=name, partitions=partitions)
        return rig

    def connect(self, node: int = 1) -> Wire:
        """A new connection to that node."""
        return self.plug(Wire(), node)

    def plug(self, wire: W, node: int = 1, host: str = HOST) -> W:
        """A new connection with a wire of one's own."""
        self._numbers += 1
        wire.open(self.driver, self._numbers, node, host, FIRST_PORT + self._numbers)
        return wire

    def command(self, name: str, /, **arguments: Any) -> None:
        """Steer the cluster, add or remove fault rules. Raises ValueError or LookupError, which say what is wrong."""
        self.driver.submit(Command(name, arguments))

    @property
    def now_ms(self) -> float:
        """Run time in ms."""
        return self.clock.now() / NS_PER_MS

    def sleep(self, ms: float) -> None:
        """Let time pass, every appointment on the way kept at its own time."""
        self.clock.advance(ms)

    def close(self) -> None:
        """The journal is whole from now on."""
        self.driver.stop()
        self.journal.end(self.clock.now())
        self.driver.record.remark(END, self.clock.now())
        self.journal.close()
