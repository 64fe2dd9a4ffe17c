"""The broker of a virtual run: the real core and driver on a clock that only moves when told, so that a real journal comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from groupmock.advertise import identity_of
from groupmock.clock import Handle, VirtualClock
from groupmock.config import resolve, settings_by_name
from groupmock.core.core import core_of
from groupmock.core.events import Command
from groupmock.core.identity import Node
from groupmock.core.ingredients import describe
from groupmock.core.units import NS_PER_MS
from groupmock.journal.file import FileSink
from groupmock.journal.journal import Journal, Sink
from groupmock.journal.rows import END, VERSION, Header, RequestRow, Row
from groupmock.net.backlog import Backlog
from groupmock.net.driver import Driver
from groupmock.net.limits import Limits
from groupmock.version import __version__

from ..names import run_name
from ..play import Missed, Sizes
from ..play import Row as Fields
from .link import HOST, NODE, Link


class Kept(Sink):
    """The sink that keeps what is measured: everything but heartbeats and raw frames."""

    routine = True
    details = True

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def take(self, row: Row) -> None:
        """One row."""
        self.rows.append(row)

    def fields(self) -> list[Fields]:
        """As the JSON of a journal has them, but for raw frames."""
        return [_fields(row) for row in self.rows]


def _fields(row: Row) -> Fields:
    if isinstance(row, RequestRow):
        row = msgspec.structs.replace(row, raw=None)
    fields: Fields = msgspec.to_builtins(row)
    return fields


class World:
    """One cluster, its clock, and the seed that everything is drawn from. `journal`: a file to write a complete journal to."""

    def __init__(self, sizes: Sizes, journal: Path | None = None) -> None:
        settings = {
            "group.initial.rebalance.delay.ms": str(sizes.initial_delay_ms),
            "group.min.session.timeout.ms": "1",
            "group.max.session.timeout.ms": str(2**31 - 1),
        }
        config = resolve({"seed": sizes.seed}, list(settings.items()))
        self.sizes = sizes
        self.clock = VirtualClock()
        identity = identity_of(config.profile, "scenario", [Node(NODE, HOST.removeprefix("/"), 9092)])
        self.core = core_of(config.settings, identity, Random(sizes.seed), self.clock.epoch_ns // NS_PER_MS)
        header = Header(
            v=VERSION, run=run_name(sizes, journal), product=f"groupmock {__version__}", seed=sizes.seed, epoch_ns=self.clock.epoch_ns,
            profile=config.profile.name, config=settings_by_name(config), complete=False,
        )  # fmt: skip
        self.kept = Kept()
        self.journal = Journal(header, [self.kept])
        if journal is not None:
            self.journal.add(FileSink(str(journal), self._broken))
        self.driver = Driver(self.core, self.clock, self.journal, Limits(), backlog=Backlog(None))
        self.journal.begin(describe(self.core.environment))
        self._links = 0

    def _broken(self, reason: str) -> None:
        raise OSError(f"the journal could not be written: {reason}")

    def dice(self, *what: object) -> Random:
        """Dice for one purpose: what one member draws does not change what others do, whatever the protocol."""
        return Random(f"{self.sizes.seed}/{'/'.join(map(str, what))}")

    def now(self) -> int:
        """ns since the start."""
        return self.clock.now()

    def connect(self, client_id: str) -> Link:
        """A new connection."""
        self._links += 1
        return Link(self.driver, self.clock, self._links, client_id)

    def command(self, command: str, **arguments: Any) -> None:
        """Steer the cluster."""
        self.driver.submit(Command(command, arguments))

    def tell(self, client: str, what: str, fields: Mapping[str, Any]) -> None:
        """Append a `client` row."""
        self.driver.record.client(client, what, dict(fields), self.now())

    def later(self, ms: float, callback: Callable[[], None]) -> Handle:
        """Call back in so many ms."""
        return self.clock.call_at(self.now() + round(ms * NS_PER_MS), callback)

    def advance(self, ms: float) -> None:
        """Time passes."""
        self.clock.advance(ms)

    def until(self, done: Callable[[], str | None], limit_ms: float, step_ms: float) -> None:
        """Let time pass until `done` finds nothing missing. Raises Missed with what it found last."""
        passed = 0.0
        while (missing := done()) is not None:
            if passed > limit_ms:
                raise Missed(f"after {limit_ms:g} virtual ms: {missing}")
            self.advance(step_ms)
            passed += step_ms

    def close(self) -> None:
        """The journal is whole from now on."""
        self.driver.stop()
        self.driver.record.remark(END, self.now())
        self.journal.close()
