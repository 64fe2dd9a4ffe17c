"""The broker of a virtual run: the real core and driver on a virtual clock, which write a real journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from groupmock.config.resolve import resolve, settings_by_name
from groupmock.core.identity import Node
from groupmock.journal.file import FileSink
from groupmock.journal.journal import Sink
from groupmock.journal.rows import RequestRow, Row
from groupmock.net.clock import Handle, VirtualClock
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.making import core_of_profile
from groupmock.rig.streams_member import Task
from groupmock.rig.wire_rig import HOST, WireRig, rig_header
from groupmock_codec.units import NS_PER_MS

from ..names import run_name
from ..play import Missed, Sizes
from ..play import Row as Fields
from .link import Link

NODE: Final = 1


def fields_of(row: Row) -> Fields:
    """Return a row's fields as in the JSON of a journal, without raw frames."""
    if isinstance(row, RequestRow):
        row = msgspec.structs.replace(row, raw=None)
    fields: Fields = msgspec.to_builtins(row)
    return fields


class World:
    """Holds the cluster of a scenario, its clock and its seed. `journal` is a file to which a complete journal is written."""

    def __init__(self, sizes: Sizes, journal: Path | None = None) -> None:
        settings = {
            "group.initial.rebalance.delay.ms": str(sizes.initial_delay_ms),
            "group.min.session.timeout.ms": "1",
            "group.max.session.timeout.ms": str(2**31 - 1),
            "group.consumer.session.timeout.ms": str(sizes.session_ms),
            "group.consumer.heartbeat.interval.ms": str(sizes.heartbeat_ms),
            "group.streams.session.timeout.ms": str(sizes.session_ms),
            "group.streams.heartbeat.interval.ms": str(sizes.heartbeat_ms),
            "group.streams.initial.rebalance.delay.ms": str(sizes.initial_delay_ms),
            "group.streams.num.standby.replicas": "1",
        }
        config = resolve({"seed": sizes.seed}, list(settings.items()))
        self.sizes = sizes
        # Maps processes of Kafka Streams to the tasks in their state directories, and how far they are.
        self.state_directories: dict[str, dict[Task, int]] = {}
        self.clock = VirtualClock()
        nodes = [Node(NODE, HOST.removeprefix("/"), 9092)]
        core = core_of_profile(config.profile, config.settings, seed=sizes.seed, nodes=nodes, cluster_id="scenario")
        header = rig_header(self.clock, sizes.seed, config.profile.name, run_name(sizes, journal), settings_by_name(config))
        self.kept = KeptRows(details=True)
        sinks: list[Sink] = [self.kept]
        if journal is not None:
            sinks.append(FileSink(str(journal), self._broken))
        self.rig = WireRig(core, clock=self.clock, sinks=sinks, header=header)
        self.core, self.command, self.advance, self.close = core, self.rig.command, self.rig.sleep, self.rig.close

    def _broken(self, reason: str) -> None:
        raise OSError(f"the journal could not be written: {reason}")

    def dice(self, *what: object) -> Random:
        """Return a random generator for one purpose, so that one member's draws do not change another's."""
        return Random(f"{self.sizes.seed}/{'/'.join(map(str, what))}")

    def now(self) -> int:
        return self.clock.now()

    def connect(self, client_id: str) -> Link:
        return self.rig.plug(Link(self.clock, client_id))

    def tell(self, client: str, what: str, fields: Mapping[str, Any]) -> None:
        self.rig.driver.record.client(client, what, dict(fields), self.now())

    def later(self, ms: float, callback: Callable[[], None]) -> Handle:
        return self.clock.call_at(self.now() + round(ms * NS_PER_MS), callback)

    def until(self, done: Callable[[], str | None], limit_ms: float, step_ms: float) -> None:
        """Advance the clock until the function `done` returns None, which otherwise says what is missing. Raises Missed with its last
        text."""
        passed = 0.0
        while (missing := done()) is not None:
            if passed > limit_ms:
                raise Missed(f"after {limit_ms:g} virtual ms: {missing}")
            self.advance(step_ms)
            passed += step_ms
