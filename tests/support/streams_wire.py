"""Members of a streams group on a driver without sockets, with a journal file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from rig_journal import never
from streams_world import subtopology, tasks, topology

from groupmock.journal.file import FileSink
from groupmock.journal.journal import Sink
from groupmock.rig import Wire, WireRig
from groupmock_codec.messages import k88_streams_group_heartbeat as k88

SETTINGS: Final = {
    "group.streams.session.timeout.ms": 20_000, "group.streams.min.session.timeout.ms": 20_000,
    "group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0,
}  # fmt: skip
COUNTS: Final = topology(
    subtopology("0", "orders", sinks=["app-by-key-repartition"]),
    subtopology("1", state=["app-counts-changelog"], repartition=["app-by-key-repartition"]),
)
"""A topology that counts records by another key: its second half is stateful."""
Tasks = dict[str, list[int]]


class Answer(NamedTuple):
    """The answer to a heartbeat: error code, epoch, active and standby tasks or None for null, and the codes of the statuses."""

    error: int
    epoch: int
    active: Tasks | None
    standby: Tasks | None
    statuses: list[int]


def id_of(member: str) -> str:
    """Return the id of a member: its name and, as clients do, something that no other member has."""
    return f"{member}-7Q{member}"


class StreamsWire:
    """One node, and a streams group with one standby of each stateful task. Each member is a process with one connection, and its name is
    its client id."""

    def __init__(
        self, path: Path, sinks: Iterable[Sink] = (), group: str = "app", topics: Mapping[str, int] | None = None, standbys: int = 1
    ) -> None:
        self.path, self.group = path, group
        files = [FileSink(str(path), never), *sinks]
        self.rig = WireRig.make(settings=SETTINGS, topics=topics or {}, seed=3, sinks=files)
        self.wires: dict[str, Wire] = {}
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, tuple[Tasks, Tasks]] = {}
        self.rig.command("configure_group", group=group, set={"streams.num.standby.replicas": str(standbys)})

    def beat(self, member: str, **fields: Any) -> Answer:
        """Send a heartbeat with what the member owns, and return its answer."""
        active, standby = self.owned.get(member, ({}, {}))
        asked: dict[str, Any] = {
            "group_id": self.group, "member_id": id_of(member), "member_epoch": self.epochs.get(member, 0),
            "active_tasks": tasks(active), "standby_tasks": tasks(standby), "warmup_tasks": [],
        }  # fmt: skip
        if member not in self.wires or self.wires[member].closed:
            self.wires[member] = self.rig.connect()
        found = self.wires[member].ask(88, 1, k88.StreamsGroupHeartbeatRequest(**{**asked, **fields}), member)
        if not found.error_code:
            self.epochs[member] = max(found.member_epoch, 0)
        roles = [None if each is None else {of.subtopology_id: list(of.partitions) for of in each} for each in lists(found)]
        if roles[0] is not None and roles[1] is not None:
            self.owned[member] = roles[0], roles[1]
        return Answer(found.error_code, found.member_epoch, roles[0], roles[1], [each.status_code for each in found.status])

    def join(self, member: str, of: k88.Topology = COUNTS, **fields: Any) -> Answer:
        """Join as a process of its own, and let internal topics be created that are missing."""
        self.owned.pop(member, None)
        own: dict[str, Any] = {"process_id": f"process-{member}", "rebalance_timeout_ms": 30_000, "client_tags": []}
        answer = self.beat(member, **{"member_epoch": 0, "topology": of, **own, **fields})
        self.rig.sleep(1)
        return answer

    def rounds(self, *members: str, times: int = 1) -> None:
        """Let each member send a heartbeat, `times` times, with a second between two rounds."""
        for _ in range(times):
            for member in members:
                self.beat(member)
            self.rig.sleep(1000)

    def leave(self, member: str) -> None:
        self.beat(member, member_epoch=-1)

    def hang_up(self, member: str) -> None:
        """Close the connection of a member, as a crash does."""
        self.wires.pop(member).hang_up()


def lists(found: Any) -> tuple[list[k88.TaskIds] | None, list[k88.TaskIds] | None]:
    return found.active_tasks, found.standby_tasks


def worked(path: Path, sinks: Iterable[Sink] = (), group: str = "app") -> Path:
    """Play the life of an application with two and three instances, and write its journal.

    anna joins before the topic orders exists, which is created at 1 s. ben joins at 4 s and stands by for anna's counts and she for his.
    cleo joins at 8 s. ben crashes at 14 s, and his session ends 20 s later, so that cleo takes over what she stood by for. anna leaves at
    40 s, and cleo asks for the end of the application and leaves.
    """
    world = StreamsWire(path, sinks, group)
    world.join("anna")
    world.rig.sleep(999)
    world.rig.command("create_topic", name="orders", partitions=2)
    world.rounds("anna", times=3)
    world.join("ben")
    world.rig.sleep(999)
    world.rounds("anna", "ben", times=3)
    world.join("cleo")
    world.rig.sleep(999)
    world.rounds("anna", "ben", "cleo", times=5)
    world.hang_up("ben")
    world.rounds("anna", "cleo", times=26)
    world.leave("anna")
    world.rounds("cleo", times=2)
    world.beat("cleo", shutdown_application=True)
    world.leave("cleo")
    world.rig.close()
    return path
