"""The data of a streams group and its members, with the methods that change it. `states` explains the protocol.

Values on which a heartbeat's answer depends are changed by methods of `Group` only, because each of them ends the leases that were given
before (`GroupType.end_leases`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import msgspec

from ...java.hashes import java_hash
from ...java.orders import java_order
from ...timers import Timer
from ..consumer.group import no_session
from ..consumer.states import AWAY, JOINING, Progress
from ..offsets.committed import CommittedOffsets
from ..reconciling import ReconcilingGroup
from .states import State
from .tasks import Task
from .topology import Configured, source_topics_of

if TYPE_CHECKING:
    from groupmock_codec.messages.k88_streams_group_heartbeat import EndpointToPartitions, Topology
    from groupmock_codec.messages.k89_streams_group_describe import TopologyDescription

    from ...turn import Turn
    from ..type import Home

NO_TASKS: Final[frozenset[Task]] = frozenset()


class Tasks(NamedTuple):
    """The tasks of a member by role. `active` maps each active task to the member epoch at which the member got it (KIP-1251)."""

    active: Mapping[Task, int]
    standby: frozenset[Task]

    @property
    def any(self) -> bool:
        return bool(self.active or self.standby)

    def same_as(self, other: Tasks) -> bool:
        """True if both have the same tasks in the same roles."""
        return self.active.keys() == other.active.keys() and self.standby == other.standby


NOTHING: Final = Tasks({}, NO_TASKS)


class Target(NamedTuple):
    """The tasks that a member is to have."""

    active: frozenset[Task]
    standby: frozenset[Task]


NO_TARGET: Final = Target(NO_TASKS, NO_TASKS)
Endpoint = tuple[str, int]
"""The host and port at which an application answers interactive queries."""
Sums = Mapping[Task, int]
"""The sums of changelog offsets that a member has reported, by task."""

MOST_STRAYS: Final = 100
"""A group keeps the reports of this number of joins that failed. Kafka keeps all."""


class Member(msgspec.Struct, eq=False, gc=False):
    """A member of a streams group. `assigned` has the tasks that it may have, and `revoking` those that it must give up and may still
    have. `held_by` is the process for which the group has noted them. `offsets` and `end_offsets` are as reported, and not in the log. For
    the other fields see `consumer.group.Member`."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology_epoch: int = 0
    process_id: str = ""
    held_by: str = ""
    endpoint: Endpoint | None = None
    tags: Mapping[str, str] = {}
    epoch: int = JOINING
    previous_epoch: int = -1
    progress: Progress = Progress.STABLE
    assigned: Tasks = NOTHING
    revoking: Tasks = NOTHING
    offsets: Sums = {}
    end_offsets: Sums = {}
    session: Timer = msgspec.field(default_factory=no_session)
    session_timeout_ms: int = 0

    @property
    def gives_way(self) -> bool:
        """True if a member with another id may take the member's instance id now."""
        return self.epoch == AWAY


class Description(msgspec.Struct):
    """The description of the group's topology that a plug-in stores, or None. Members are asked for it again from `asks_from` on (ns of the
    run), after it was asked for `asked` times."""

    stored: TopologyDescription | None = None
    asked: int = 0
    asks_from: int = 0


class Entry(NamedTuple):
    """The line of a member in the table of endpoints, with the tasks, the topics and the endpoint for which it was computed."""

    tasks: Tasks
    topics: Mapping[str, tuple[bytes, int]]
    endpoint: Endpoint
    line: EndpointToPartitions


class Group(ReconcilingGroup[Member, Target]):
    """The data of a streams group; `type.StreamsGroup` adds the methods that groups of any type have.

    `topology` is the one of the join that created the group, and `configured` is what follows from it and from `topics`. `reads` maps
    subtopologies to the topics that they read, and `readers` the other way round. `entries` has what `endpoints` has computed, and
    `description` belongs to `descriptions`. `standbys` and `wanted_tags` are the settings with which the last heartbeat was handled.
    `actives` maps each active task to the member that has it, assigned or revoking, and `standing` each standby task to processes, from
    which a process is missing once any of its members has given the task up (StreamsGroup.currentStandbyTaskToProcessIds).
    `endpoint_epoch` is raised when endpoints or their tasks change. `shutdown_by` is the member that asked for the end of the application.
    Failures to create its internal topics are remembered for `remembered_ms`.

    Kafka has the rest in memory only, so that a heartbeat that fails changes it too (ST-137). `shown` is the topology as the last heartbeat
    has configured it, or None if none has since the group was created or its coordinator started. `failed_epoch` is the group epoch that
    the last failed heartbeat would have written, or 0 once a heartbeat has written the topics as they are. `withheld_epoch` is the
    assignment epoch at which members get no tasks, whatever their targets are, or 0. `strays` maps member ids to the offsets and end
    offsets that they have reported with joins that failed."""

    __slots__ = (
        "actives", "configured", "description", "endpoint_epoch", "entries", "failed_epoch", "readers", "reads", "remembered_ms",
        "required", "restless", "shown", "shutdown_by", "standbys", "standing", "strays", "topology", "wanted_tags", "withheld_epoch",
    )  # fmt: skip

    def __init__(self, home: Home, group_id: str, partition: int) -> None:
        super().__init__(home, group_id, partition, State.EMPTY, "streams")
        self.assignment_epoch = self.generation
        self.restless: set[str] = set()
        self.topology: Topology | None = None
        self.required: frozenset[str] = frozenset()
        self.configured: Configured | None = None
        self.description = Description()
        self.reads: dict[str, tuple[str, ...]] = {}
        self.readers: dict[str, str] = {}
        self.entries: dict[str, Entry] = {}
        self.standbys = 0
        self.wanted_tags: tuple[str, ...] = ()
        self.actives: dict[Task, str] = {}
        self.standing: dict[Task, set[str]] = {}
        self.endpoint_epoch = 0
        self.shown: Configured | None = None
        self.failed_epoch = self.withheld_epoch = 0
        self.strays: dict[str, tuple[Sums, Sums]] = {}
        self.shutdown_by: str | None = None
        self.remembered_ms = 0
        self.offsets = CommittedOffsets()

    @classmethod
    def begin(cls, turn: Turn, home: Home, group_id: str, partition: int) -> Self:
        """Return an empty group whose group epoch is 1."""
        return cls(home, group_id, partition)

    @property
    def is_ready(self) -> bool:
        """True if the topology goes with the topics, so that members may have tasks."""
        return self.configured is not None and self.configured.status is None

    def subscribed_names(self) -> Collection[str]:
        return self.required

    def present(self) -> str:
        """Return the state that follows from the group's epochs, topics and members (StreamsGroup.maybeUpdateGroupState)."""
        if self.members and not self.is_ready:
            return State.NOT_READY
        return super().present()

    def stands_by(self, task: Task, process_id: str) -> bool:
        """True if the process has the task as standby, as far as Kafka knows."""
        return process_id in self.standing.get(task, ())

    def runs(self, task: Task, process_id: str) -> bool:
        """True if the process has the task active."""
        holder = self.actives.get(task)
        return holder is not None and self.members[holder].held_by == process_id

    # -- Topology

    def configure(
        self, topology: Topology, required: frozenset[str], topics: Mapping[str, tuple[bytes, int]], configured: Configured
    ) -> None:
        """Set the topology, the topics that it uses, and what follows from both."""
        if topology is not self.topology:
            self.reads = {each: tuple(java_order(names, java_hash)) for each, names in source_topics_of(topology).items()}
            self.readers = {name: each for each, names in self.reads.items() for name in names}
        if topics is not self.topics:
            self.topics, self.stale, self.failed_epoch = dict(topics), False, 0
        self.topology, self.required, self.configured = topology, required, configured
        self.epoch += 1

    def bump(self) -> None:
        """Raise the group epoch, because a new target assignment is needed. As long as the group epoch is below the one that a failed
        heartbeat would have written, Kafka looks up the topics again (StreamsGroup.hasMetadataExpired)."""
        super().bump()
        if self.generation == self.failed_epoch:
            self.stale = False

    def report(self, member_id: str, offsets: Sums | None, end_offsets: Sums | None) -> None:
        """Store what a heartbeat reports. Kafka stores it by member id before it fails, also for an id that is no member."""
        member = self.members.get(member_id)
        if member is not None:
            member.offsets = member.offsets if offsets is None else offsets
            member.end_offsets = member.end_offsets if end_offsets is None else end_offsets
        elif offsets is not None or end_offsets is not None:
            before = self.strays.pop(member_id, ({}, {}))
            self.strays[member_id] = (before[0] if offsets is None else offsets, before[1] if end_offsets is None else end_offsets)
            if len(self.strays) > MOST_STRAYS:
                del self.strays[next(iter(self.strays))]

    def note_failure(self, calls: bool, computes: bool, withholds: bool) -> None:
        """Note a heartbeat that failed after Kafka had changed what it has in memory. `calls`: it would have raised the group epoch.
        `computes`: it has computed targets without tasks, which since Kafka 4.4 (`withholds`) are kept under the number of their epoch
        (StreamsGroup.refinedAssignment)."""
        epoch = self.generation + calls
        if calls:
            self.failed_epoch, self.stale = epoch, True
        if computes and withholds:
            self.withheld_epoch = epoch
        else:
            self.forget_withheld()
        self.entries.clear()
        self.epoch += 1

    def forget_withheld(self) -> None:
        """Forget an epoch without tasks that is not the assignment epoch, because Kafka keeps the targets of one epoch only."""
        if self.withheld_epoch != self.assignment_epoch:
            self.withheld_epoch = 0

    def target_of(self, member: Member) -> Target:
        """Return the tasks that the member's next step leads to."""
        return NO_TARGET if self.withheld_epoch == self.assignment_epoch else self.targets.get(member.member_id, NO_TARGET)

    def keep_targets(self) -> None:
        """Let the targets be those of the present group epoch. No member has reached them yet."""
        self.assignment_epoch = self.generation
        self.restless.update(self.members)

    def lacks(self, member: Member) -> bool:
        """True if the member has other tasks than its target has, because they were withheld."""
        target, has = self.targets.get(member.member_id, NO_TARGET), member.assigned
        return target.active != has.active.keys() or target.standby != has.standby

    def adjust(self, standbys: int, tags: tuple[str, ...]) -> None:
        """Note the settings with which the last heartbeat was handled."""
        if (standbys, tags) != (self.standbys, self.wanted_tags):
            self.standbys, self.wanted_tags = standbys, tags
            self.epoch += 1

    # -- Members

    def put(self, member: Member) -> None:
        """Add a member and its tasks to the group's maps. `seat` gives it its place among the others."""
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self._hold(member)
        self.watch(member)
        self.epoch += 1

    def drop(self, member: Member) -> None:
        """Remove a member from all maps but the member table, so that its tasks become free."""
        self._release(member)
        del self.members[member.member_id]
        self.entries.pop(member.member_id, None)
        self.targets.pop(member.member_id, None)
        self.restless.discard(member.member_id)
        if member.group_instance_id is not None and self.static_members.get(member.group_instance_id) == member.member_id:
            del self.static_members[member.group_instance_id]
        if not self.members:
            self.shutdown_by = None
        self.epoch += 1

    def replace(self, old: Member, new: Member) -> None:
        """Replace a static member by a member with another id and the same tasks. The rest of the group does not change."""
        target = self.targets.pop(old.member_id, None)
        self._release(old)
        del self.members[old.member_id]
        self.entries.pop(old.member_id, None)
        self.restless.discard(old.member_id)
        if target is not None:
            self.targets[new.member_id] = target
        self.put(new)

    def name_instance(self, member: Member, instance: str) -> None:
        """Let the member have another instance id, whose former one is unknown from now on."""
        if member.group_instance_id is not None:
            del self.static_members[member.group_instance_id]
        member.group_instance_id = instance
        self.static_members[instance] = member.member_id
        self.epoch += 1

    def give(self, member: Member, assigned: Tasks, revoking: Tasks) -> bool:
        """Set the tasks that the member is assigned and those that it is revoking. Return True if its assigned tasks have changed."""
        changed = not assigned.same_as(member.assigned)
        self._release(member)
        member.assigned, member.revoking = assigned, revoking
        self._hold(member)
        self.epoch += 1
        return changed

    def note_again(self, member: Member) -> None:
        """Note the member's tasks for its process once more, as Kafka does with each record of a member."""
        self._release(member)
        self._hold(member)

    def raise_endpoint_epoch(self) -> None:
        self.endpoint_epoch += 1
        self.epoch += 1

    def shut_down(self, member_id: str) -> None:
        """Note the first member that asked for the end of the application (ST-140)."""
        if self.shutdown_by is None:
            self.shutdown_by = member_id
            self.epoch += 1

    def _hold(self, member: Member) -> None:
        member.held_by = member.process_id
        for task in roles(member, "active"):
            self.actives[task] = member.member_id
        for task in roles(member, "standby"):
            self.standing.setdefault(task, set()).add(member.held_by)

    def _release(self, member: Member) -> None:
        for task in roles(member, "active"):
            self.actives.pop(task, None)
        for task in roles(member, "standby"):
            holders = self.standing.get(task)
            if holders is not None:
                holders.discard(member.held_by)
                if not holders:
                    del self.standing[task]

    def refill(self, generation: int, assignment_epoch: int, members: Iterable[Member], targets: dict[str, Target]) -> None:
        self.generation, self.assignment_epoch = generation, assignment_epoch
        for member in members:
            self.put(member)
            self.seat(member.member_id)
        self.targets, self.state = targets, self.present()

    def invariants(self) -> None:
        """Raise AssertionError, naming the broken invariant, unless all hold."""
        from .invariants import INVARIANTS  # This import is late, because a server that only listens does not need it.

        for name, check in INVARIANTS.items():
            assert check(self), f"group {self.group_id!r} in {self.state}: {name}"


def in_words(tasks: Collection[Task], most: int = 4) -> str:
    """Return the tasks as text, such as "0_1, 1_2 and 3 more"."""
    told = [f"{subtopology}_{number}" for subtopology, number in sorted(tasks)[:most]]
    more = f" and {len(tasks) - most} more" if len(tasks) > most else ""
    return ", ".join(told) + more if told else "nothing"


def roles(member: Member, role: str) -> Iterator[Task]:
    """Yield the tasks that the member has in one role, assigned or revoking."""
    if role == "active":
        yield from member.assigned.active
        yield from member.revoking.active
    else:
        yield from member.assigned.standby
        yield from member.revoking.standby
