"""Plays scenarios with scripted members and the real core on a virtual clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from groupmock.rounds import name_of
from groupmock_codec.group_states import STABLE

from ...cooperative.member import Membership
from ..play import BY_BROKER, GROUP, RUNNER, STREAMS, STREAMS_CLASSIC, Missed, Protocol, Row, Sizes, Speaks, Unsupported
from .assignors import Assignor, CooperativeSticky, Design, Range, RangeOrDesign, rules
from .follower import VirtualConsumer, VirtualFollower
from .member import VirtualMember
from .producer import Producer
from .streams import VirtualClassicStreams, VirtualStreamsMember
from .world import World, fields_of

CLIENTS: Final = ("scripted", "scripted-twin")
PROTOCOLS: Final = ("range", "cooperative-sticky", "design-1", "design-2", "design-3", BY_BROKER, STREAMS_CLASSIC, STREAMS)
MEMBERS: Final = {BY_BROKER: VirtualConsumer, STREAMS_CLASSIC: VirtualClassicStreams, STREAMS: VirtualStreamsMember}
"""Maps protocols to the class of their members, if that is not VirtualMember."""
STEPS_PER_HEARTBEAT: Final = 4
CALM_HEARTBEATS: Final = 2


class VirtualStage:
    """The scenario's stage on a virtual clock, with scripted members. Raises Unsupported for other protocols or clients."""

    kind = "virtual"

    def __init__(self, sizes: Sizes, protocol: Protocol, journal: Path | None = None) -> None:
        if protocol.name not in PROTOCOLS or protocol.client not in CLIENTS:
            raise Unsupported(f"the virtual stage has {', '.join(PROTOCOLS)} with {' or '.join(CLIENTS)}, not {protocol}")
        if protocol.twin and not protocol.design:
            raise Unsupported(f"twins are for Designs I to III, not for {protocol.name}")
        self.sizes, self.protocol = sizes, protocol
        self._kind: type[VirtualMember] = MEMBERS.get(protocol.name, VirtualMember)
        self.world = World(sizes, journal)
        self.producer = Producer(sizes.rate, self.world.now, self.world.tell)
        self.counts: dict[str, int] = {}
        self.members: dict[str, VirtualMember] = {}
        self.started = 0

    def start(self, member: str, speaks: Speaks, topics: Sequence[str]) -> None:
        first = not self.started
        self.started += 1
        dice = self.world.dice(member, self.started)
        assignors = self._assignors(speaks) if self._kind.ASSIGNORS is None else [make() for make in self._kind.ASSIGNORS]
        self.members[member] = new = self._kind(
            self.world, self.producer, self.counts, member, topics, assignors, self.protocol.twin, dice
        )
        new.start(first)

    def _assignors(self, speaks: Speaks) -> list[Assignor]:
        """Return the assignors that a member lists, unless its class has assignors of its own: one for both if the protocol has one
        bounce."""
        if speaks is Speaks.PLAIN or self.protocol.name == Range.name:
            return [Range()]
        if speaks is Speaks.BOTH and self.protocol.bounces == (Speaks.BOTH,):
            return [RangeOrDesign(self._design())]
        target = Design(self._design()) if self.protocol.design else CooperativeSticky()
        return [target] if speaks is Speaks.TARGET else [target, Range()]

    def _design(self) -> Membership:
        sizes = self.sizes
        found = rules(self.protocol.design, sizes.delay_ms, sizes.max_moves, sizes.move_interval_ms)
        return Membership(found, clock=lambda: self.world.now() / 1e9, nonce=self.world.dice("nonce", self.started).getrandbits(31))

    def kill(self, member: str) -> None:
        self.members.pop(member).kill()

    def stop(self, member: str) -> None:
        self.members.pop(member).stop()

    def subscribe(self, members: Sequence[str], topics: Sequence[str]) -> None:
        for member in members:
            self.members[member].subscribe(topics)

    def create(self, topic: str, partitions: int) -> None:
        self.world.command("create_topic", name=topic, partitions=partitions)
        self._count(topic, partitions)

    def grow(self, topic: str, partitions: int) -> None:
        self.world.command("grow_topic", name=topic, partitions=partitions)
        self._count(topic, partitions)

    def _count(self, topic: str, partitions: int) -> None:
        self.producer.add(topic, range(self.counts.get(topic, 0), partitions))
        self.counts[topic] = partitions

    def leader(self) -> str:
        group = self.world.core.cluster.groups.find(GROUP)
        if group is not None and issubclass(self._kind, VirtualFollower):
            return ""  # The coordinator assigns.
        if group is None or group.leader_id is None:
            raise Missed("nobody leads the group")
        return name_of(group.leader_id)

    def noticed(self, members: frozenset[str]) -> None:
        self._until(lambda: self._not_here(members))

    def settled(self, members: frozenset[str]) -> None:
        """Wait for a settled group, and a few heartbeats more, as the live stage does."""
        self._until(lambda: self._not_here(members) or self._not_settled())
        self.wait(CALM_HEARTBEATS * self.sizes.heartbeat_ms)

    def _until(self, done: Any) -> None:
        sizes = self.sizes
        moves = sum(self.counts.values()) / sizes.max_moves * (sizes.move_interval_ms + 2 * sizes.heartbeat_ms)
        limit = 10 * sizes.session_ms + 5 * sizes.delay_ms + 2 * moves + 10 * sizes.startup_ms + 5 * sizes.metadata_ms + 60_000
        self.world.until(done, limit, sizes.heartbeat_ms / STEPS_PER_HEARTBEAT)

    def _not_here(self, members: frozenset[str]) -> str | None:
        group = self.world.core.cluster.groups.find(GROUP)
        if group is None:
            return "there is no group"
        present = {member.client_id for member in group.members.values()}
        unready = sorted(name for name in members if not self.members[name].stable)
        if str(group.state) != STABLE or present != members or unready:
            return f"the group is {group.state} with {len(present)} members where {len(members)} live; not ready: {unready[:5]}"
        return None

    def _not_settled(self) -> str | None:
        topics = {topic for member in self.members.values() for topic in member.topics}
        owned = [partition for member in self.members.values() for partition in member.owned]
        wanted = sum(self.counts.get(topic, 0) for topic in topics)
        if len(set(owned)) != wanted or len(owned) != wanted:
            return f"{len(set(owned))} of {wanted} partitions have an owner"
        restless = sorted(name for name, member in self.members.items() if not member.at_rest)
        return f"{restless[:5]} are to join again" if restless else None

    def wait(self, ms: float) -> None:
        self.world.advance(ms)

    def tell(self, client: str, what: str, fields: Mapping[str, Any]) -> None:
        """Append a row to the journal. Before the runner's end, report what is being delivered and what was produced."""
        if (client, what) == (RUNNER, "end"):
            for member in self.members.values():
                member.delivery.flush()
            self.producer.report()
        self.world.tell(client, what, fields)

    def rows(self) -> list[Row]:
        return [fields_of(row) for row in self.world.kept.rows]


@contextmanager
def open_stage(sizes: Sizes, protocol: Protocol, journal: Path | None = None) -> Iterator[VirtualStage]:
    """Open a stage for one run. Raises Unsupported, and OSError if the journal cannot be written."""
    stage = VirtualStage(sizes, protocol, journal)
    try:
        yield stage
    finally:
        stage.world.close()
