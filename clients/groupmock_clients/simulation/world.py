"""The cluster of a simulated run: the real driver and core on a virtual clock, with a journal in memory and judges that see every event."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from groupmock.config.resolve import settings_by_name
from groupmock.journal.file import without_empty_tags
from groupmock.journal.journal import Repeated, Sink
from groupmock.journal.rows import Header, NoteRow, Row
from groupmock.net.driver import Driver
from groupmock.rig.making import core_of_profile, make_config
from groupmock.rig.wire_rig import WireRig, rig_header
from groupmock_codec.units import NS_PER_MS

from .judges.bench import Bench, WatchedCore
from .wire import SimulatedWire

if TYPE_CHECKING:
    from groupmock.net.connection import Connection

    from .plan import SimulationPlan

KEPT_FRAMES: Final = 40
"""The number of requests that are kept so that hostile peers can alter and repeat them."""
LOOK_NS: Final = 250 * NS_PER_MS
"""A run checks for a finding at this interval of virtual time."""
KEPT_ROWS: Final = 400
"""The number of last rows that are kept for the story of a finding."""


class Written(Sink):
    """A journal that keeps in memory what its file would contain. `rows`: the last ones, for a story; `defect`: what an `internal error`
    row says."""

    routine = True
    heartbeats = True
    details = True

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.rows: list[Row] = []
        self.defect: str | None = None
        self._encode = msgspec.json.Encoder().encode

    def begin(self, header: Header) -> None:
        self.lines.append(self._encode(header))

    def take(self, row: Row) -> None:
        self.lines.append(without_empty_tags(self._encode(row)))
        self.rows.append(row)
        if len(self.rows) > 2 * KEPT_ROWS:
            del self.rows[:KEPT_ROWS]
        if isinstance(row, NoteRow) and row.what == "internal error" and self.defect is None:
            self.defect = f"{row.fields.get('where')}: {row.fields.get('error')}"

    def take_repeated(self, repeated: Repeated) -> None:
        """Write the heartbeats that the driver answered without the core."""
        self.lines.extend(without_empty_tags(self._encode(row)) for row in repeated.rows())

    def data(self) -> bytes:
        return b"\n".join(self.lines) + b"\n"

    def digest(self) -> str:
        return hashlib.sha256(self.data()).hexdigest()[:16]


class WatchedDriver(Driver):
    """A driver that checks the cost of every request and counts the turns of its connection."""

    bench: Bench
    written_bytes: Callable[[], int]

    def request(self, connection: Connection, frame: bytes, received: int) -> None:
        bench = self.bench
        bench.turns.handled(connection.number)
        people = len(self.tickets) + sum(len(group.members) for group in bench.groups.peopled())
        handle = partial(super().request, connection, frame, received)
        bench.budgets.request(frame, connection.number, people, self._measures, handle)
        bench.look_at_groups()

    def _measures(self) -> tuple[int, int]:
        return self.journal.sequence, self.written_bytes()


class WatchedRig(WireRig):
    """A rig that uses WatchedDriver as its driver."""

    drives = WatchedDriver


class World:
    """Holds one simulated cluster, in which `sampled` adds expensive checks (encoding answers again, counting calls)."""

    def __init__(self, plan: SimulationPlan, sampled: bool) -> None:
        self.plan, self.sampled = plan, sampled
        self.bench = Bench(sampled)
        self.clock = self.bench.turns.clock
        self.journal = Written()
        config = make_config(plan.profile, plan.settings)
        made = core_of_profile(config.profile, config.settings, seed=plan.seed, nodes=plan.nodes, cluster_id="simulation")
        core = WatchedCore(made, self.bench)
        header = rig_header(self.clock, plan.seed, config.profile.name, f"simulation-{plan.seed}", settings_by_name(config))
        turns = self.bench.turns.turns
        self.rig = WatchedRig(core, clock=self.clock, sinks=[self.journal], header=header, limits=config.limits, turns=turns)
        self.core = core
        self.driver = self.rig.driver
        assert isinstance(self.driver, WatchedDriver)
        self.driver.bench, self.driver.written_bytes = self.bench, self._written
        self.driver.use_leases(plan.leases)
        if sampled:  # A server compiles the codecs of groups before it is ready.
            for key, version in {at for each in plan.clients for at in each.versions.items()}:
                self.driver.codecs.of(key, version).warm_up()
        self.nodes = range(1, plan.nodes + 1)
        self.wires: list[SimulatedWire] = []
        self.frames: list[bytes] = []
        self._gone_bytes = 0
        self.topics: list[str] = []
        for name, partitions in plan.topics.items():
            self.create_topic(name, partitions)

    # -- time and steering

    def later(self, ms: float, callback: Callable[[], None]) -> None:
        self.clock.call_at(self.clock.now() + int(ms * NS_PER_MS), callback)

    def pass_time(self, ms: float) -> None:
        """Advance the clock by `ms` and fire all timers, or stop early after a finding."""
        left = int(ms * NS_PER_MS)
        while left > 0 and self.bench.finding is None:
            part = min(left, LOOK_NS)
            self.clock.step(part)
            self.bench.look_at_groups()
            left -= part
            if self.journal.defect is not None:
                self.bench.found("defect", self.journal.defect)

    def command(self, name: str, /, **arguments: Any) -> bool:
        """Run a steering command and return False if the core refused the command."""
        try:
            self.rig.command(name, **arguments)
        except (ValueError, LookupError):
            return False
        return True

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic unless one of that name ever existed, because the judges identify records and offsets by topic names."""
        if name not in self.topics:
            self.topics.append(name)
            self.command("create_topic", name=name, partitions=partitions)

    # -- connections

    def plug(self, wire: SimulatedWire, node: int, strange: bool = False) -> None:
        """Connect a client's side of a connection to a node, or end it at once if the node is stopped."""
        if not self.up(node):
            wire.closed = True
            self.clock.call_at(self.clock.now() + NS_PER_MS, wire.refused)
            return
        self.rig.plug(wire, node)
        number = wire.connection.number
        if strange:
            self.bench.strange.add(number)
        self.wires.append(wire)

    def sent(self, frame: bytes) -> None:
        """Keep a request for hostile peers to alter."""
        self.frames.append(frame)
        if len(self.frames) > 2 * KEPT_FRAMES:
            del self.frames[:KEPT_FRAMES]

    def sweep(self) -> None:
        for wire in [wire for wire in self.wires if wire.connection.gone]:
            self._gone_bytes += wire.heard
            self.wires.remove(wire)

    def _written(self) -> int:
        return self._gone_bytes + sum(wire.heard for wire in self.wires)

    # -- what a client would ask Metadata for

    def up(self, node: int) -> bool:
        """Tell whether the node runs, so that its port answers."""
        return any(each.node_id == node for each in self.core.environment.up)

    def counts(self) -> dict[str, int]:
        """Return the partitions of each topic, 0 for one that was deleted."""
        topics = self.core.cluster.topics
        return {name: topics.partitions(name) or 0 for name in self.topics}

    def led(self, places: Iterable[tuple[str, int]]) -> dict[int, list[tuple[str, int]]]:
        """Return for each node whose port answers which of the given partitions it leads."""
        found: dict[int, list[tuple[str, int]]] = {}
        for topic, partition in sorted(places):
            at = self.core.cluster.topics.find(topic, partition)
            if at is not None and self.up(at.leader):
                found.setdefault(at.leader, []).append((topic, partition))
        return found
