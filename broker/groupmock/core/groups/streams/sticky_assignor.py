"""Reimplements the assignor `sticky` of streams groups with exactly the same targets as Apache Kafka 4.3 and 4.4.

A task returns to the member that had it, or goes to a member with its state, while that member is below its quota. The other tasks go to
the process with the least load. Ties are decided by the iteration order of Java's hash maps, and by Java's PriorityQueue. In Kafka:
StickyTaskAssignor and ProcessState.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ...java.hash_maps import STRINGS, HashKeys, Kind, filled_order, string_rank
from ...java.orders import SMALLEST_TABLE
from ...java.priority_queue import PriorityQueue
from ..consumer.assignors.spec import Effort, Steps
from .tasks import Task, TasksBySubtopology

A_TASK: Final = 8
"""The cost of giving one task to a member, in the units of Effort."""


class Seen(NamedTuple):
    """A member in the form in which the assignor sees it. `active` and `standby` are the tasks that the member has (4.3: that its last
    target has). `offsets` has the sums of the changelog offsets that the member reported (4.3: none)."""

    member_id: str
    process_id: str
    active: Collection[Task]
    standby: Collection[Task]
    offsets: Mapping[Task, int]


class Assigned(NamedTuple):
    """The target of one member."""

    active: TasksBySubtopology
    standby: TasksBySubtopology


def assign(
    members: Sequence[Seen],
    tasks: Mapping[str, int],
    stateful: Collection[str],
    standbys: int,
    effort: Effort,
    *,
    before_4_4: bool = False,
) -> Steps[dict[str, Assigned]]:
    """Return the target of each member.

    `members`: in the order of the coordinator's member table, followed by the heartbeating member if it is new. `tasks`: the number of
    tasks of each subtopology. `stateful`: the subtopologies with a changelog, whose tasks get `standbys` standby tasks each. `before_4_4`:
    as Kafka 4.3 does it, which inserts a new process behind the others of its slot in the map of processes, not in front, and gives a
    standby task to none of its former standby members if the process of the first of them has the task."""
    if not members:
        return {}
    seen = yield from _in_order(members, effort)
    computation = _Computation(tasks, stateful, len(members), standbys, effort, before_4_4)
    yield from computation.read(seen)
    yield from computation.assign_active()
    if standbys > 0:
        yield from computation.assign_standby()
    return (yield from computation.targets())


def _in_order(members: Sequence[Seen], effort: Effort) -> Steps[list[Seen]]:
    """Return the members in the order of a hash map into which they were put."""
    spreads = []
    for member in members:
        spreads.append(STRINGS.spread(member.member_id))
        if effort.spend(4):
            yield
    kind: Kind[int] = Kind(spreads.__getitem__, lambda number: string_rank(members[number].member_id))
    return [members[number] for number in filled_order(kind, range(len(members)), SMALLEST_TABLE)]


class _Quota:
    """The number of tasks that one member may have: tasks / members, rounded up. A member that reached the quota is no longer counted, with
    its tasks, so that the quota decreases."""

    __slots__ = ("_members", "_tasks", "each")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.each = -(-tasks // members)

    def given(self, count: int) -> None:
        """Count a task that was given to a member, which has `count` tasks now."""
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self.each = -(-self._tasks // self._members) if self._members else 0


class _Process:
    """A process with its members and their tasks. `counts` has the members in the order of a hash map."""

    __slots__ = ("_queue", "_task_count", "active", "counts", "standby", "tasks")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.active: dict[str, list[Task]] = {}
        self.standby: dict[str, list[Task]] = {}
        self.tasks: set[Task] = set()
        self._queue: PriorityQueue[str] | None = None
        self._task_count = 0

    def open(self) -> None:
        """Sort the members, which were added in the order of the group, by the order of a hash map."""
        self.counts = dict.fromkeys(filled_order(STRINGS, list(self.counts), SMALLEST_TABLE), 0)

    @property
    def load(self) -> float:
        return self._task_count / len(self.counts)

    def give(self, member_id: str, task: Task, roles: dict[str, list[Task]]) -> int:
        """Give the task to a member, and return the number of tasks that the member has now. `roles` is `active` or `standby`. The queue of
        members is made anew when it is needed again."""
        self._queue = None
        return self._add(member_id, task, roles)

    def give_to_least_loaded(self, task: Task, roles: dict[str, list[Task]]) -> int:
        """Give the task to the member with the fewest tasks, and return the number of tasks that the member has now."""
        if len(self.counts) == 1:
            return self._add(next(iter(self.counts)), task, roles)
        if self._queue is None:
            self._queue = PriorityQueue()
            for member_id, count in self.counts.items():
                self._queue.add(count, member_id)
        member_id = self._queue.poll()
        count = self._add(member_id, task, roles)
        self._queue.add(count, member_id)
        return count

    def _add(self, member_id: str, task: Task, roles: dict[str, list[Task]]) -> int:
        self._task_count += 1
        self.tasks.add(task)
        roles.setdefault(member_id, []).append(task)
        count = self.counts[member_id] = self.counts[member_id] + 1
        return count


class _Computation:
    """Computes the targets of one group, phase by phase."""

    def __init__(
        self, tasks: Mapping[str, int], stateful: Collection[str], members: int, standbys: int, effort: Effort, before_4_4: bool
    ) -> None:
        self._tasks, self._standbys, self._effort, self._before_4_4 = tasks, standbys, effort, before_4_4
        self._subtopologies = sorted(tasks, key=string_rank)
        self._stateful = [each for each in self._subtopologies if each in stateful]
        active = sum(tasks.values())
        self._active_quota = _Quota(active, members)
        self._quota = _Quota(active + standbys * sum(tasks[each] for each in self._stateful), members)
        self._processes: list[_Process] = []
        self._process_of: dict[str, _Process] = {}
        self._had_active: dict[Task, str] = {}
        self._candidates: defaultdict[Task, list[Seen]] = defaultdict(list)

    def read(self, members: Sequence[Seen]) -> Steps[None]:
        """Read the members, their processes and former tasks."""
        order = HashKeys(STRINGS, len(members))
        insert = order.put if self._before_4_4 else order.compute
        processes: dict[str, _Process] = {}
        for member in members:
            insert(member.process_id)
            process = processes.setdefault(member.process_id, _Process())
            process.counts[member.member_id] = 0
            self._process_of[member.member_id] = process
            for task in member.active:
                self._had_active[task] = member.member_id
            candidate = member._replace(standby=frozenset(member.standby))
            for task in candidate.standby:
                self._candidates[task].append(candidate)
            if self._effort.spend(8 + len(member.active) + 2 * len(member.standby)):
                yield
            for task in member.offsets:
                if task not in candidate.standby:
                    self._candidates[task].append(candidate)
                if self._effort.spend(2):
                    yield
        self._processes = [processes[process_id] for process_id in order]
        for process in self._processes:
            process.open()
            if self._effort.spend(4 + 4 * len(process.counts)):
                yield

    def assign_active(self) -> Steps[None]:
        """Give each task to one member: to its former member, then to members with its state, then to the least loaded process."""
        left: dict[Task, None] = {}
        for task in self._by_number(self._subtopologies):
            if not self._give_active(self._had_active.get(task), task):
                left[task] = None
            if self._effort.spend(A_TASK):
                yield
        for task in list(left):
            candidates = self._ranked(task)
            if self._give_active(self._least_loaded(candidates), task):
                del left[task]
            if self._effort.spend(A_TASK + 2 * len(candidates)):
                yield
        queue = yield from self._queue()
        for task in (yield from self._by_subtopology(left)):
            process = queue.poll()
            self._count_active(process.give_to_least_loaded(task, process.active))
            queue.add(process.load, process)
            if self._effort.spend(2 * A_TASK):
                yield

    def assign_standby(self) -> Steps[None]:
        """Give the standby tasks of each stateful task to different processes: to former members of the task, then to the least loaded
        processes. A task has fewer standby tasks if no process is left for them."""
        tasks = []
        for task in self._by_number(self._stateful):
            tasks.append(task)
            if self._effort.spend(1):
                yield
        left: dict[Task, int] = {}
        for task in reversed(tasks):
            candidates = self._ranked(task)
            for given in range(self._standbys):
                given_back = self._give_standby_back(self._had_active.get(task), task)
                given_back = given_back or self._give_standby_back(self._least_loaded(candidates, task), task)
                if self._effort.spend(A_TASK + 2 * len(candidates)):
                    yield
                if not given_back:
                    left[task] = self._standbys - given
                    break
        queue = yield from self._queue()
        for task in reversed((yield from self._by_subtopology(left))):
            for _ in range(left[task]):
                given_to, polled = self._give_standby(queue, task)
                if self._effort.spend(2 * A_TASK * polled):
                    yield
                if given_to is None:
                    break

    def targets(self) -> Steps[dict[str, Assigned]]:
        """Return the targets of all members."""
        found = {}
        for member_id, process in self._process_of.items():
            active, standby = process.active.get(member_id, ()), process.standby.get(member_id, ())
            found[member_id] = Assigned(_grouped(active), _grouped(standby))
            if self._effort.spend(4 + len(active) + len(standby)):
                yield
        return found

    def _by_number(self, subtopologies: Sequence[str]) -> Iterator[Task]:
        """Yield the tasks of these subtopologies, sorted by number and then by subtopology."""
        number = 0
        while subtopologies := [each for each in subtopologies if self._tasks[each] > number]:
            for subtopology in subtopologies:
                yield subtopology, number
            number += 1

    def _by_subtopology(self, wanted: Container[Task]) -> Steps[list[Task]]:
        """Return the wanted tasks, sorted by subtopology and then by number."""
        found = []
        for subtopology in self._subtopologies:
            for number in range(self._tasks[subtopology]):
                if (subtopology, number) in wanted:
                    found.append((subtopology, number))
                if self._effort.spend(1):
                    yield
        return found

    def _queue(self) -> Steps[PriorityQueue[_Process]]:
        """Return the processes by their load, added in the order of the map."""
        queue: PriorityQueue[_Process] = PriorityQueue()
        for process in self._processes:
            queue.add(process.load, process)
            if self._effort.spend(2):
                yield
        return queue

    def _ranked(self, task: Task) -> list[Seen]:
        """Return the members that may have the state of a task: former standby members first, then by the largest sum of offsets."""
        candidates = self._candidates.get(task, [])
        return sorted(candidates, key=lambda each: (task not in each.standby, -each.offsets.get(task, 0)))

    def _least_loaded(self, candidates: list[Seen], without: Task | None = None) -> str | None:
        """Return the candidate with the least load, or None. A later candidate is preferred to an earlier one only if its process has less
        load and the member has fewer tasks. Processes that have the task `without` are left out."""
        best, best_load, best_count = None, 0.0, 0
        for candidate in candidates:
            process = self._process_of[candidate.member_id]
            if without in process.tasks:
                if self._before_4_4 and candidate is candidates[0]:
                    return None
                continue
            load, count = process.load, process.counts[candidate.member_id]
            if best is None or (load < best_load and count < best_count):
                best, best_load, best_count = candidate.member_id, load, count
        return best

    def _give_active(self, member_id: str | None, task: Task) -> bool:
        """Give the task to a member, if the member is below the quota of active tasks."""
        if member_id is None:
            return False
        process = self._process_of[member_id]
        if process.counts[member_id] >= self._active_quota.each:
            return False
        self._count_active(process.give(member_id, task, process.active))
        return True

    def _count_active(self, count: int) -> None:
        self._active_quota.given(count)
        self._quota.given(count)

    def _give_standby_back(self, member_id: str | None, task: Task) -> bool:
        """Give a standby task to a member, if its process has not the task and the member is below the quota."""
        if member_id is None:
            return False
        process = self._process_of[member_id]
        if task in process.tasks or process.counts[member_id] >= self._quota.each:
            return False
        self._quota.given(process.give(member_id, task, process.standby))
        return True

    def _give_standby(self, queue: PriorityQueue[_Process], task: Task) -> tuple[_Process | None, int]:
        """Give a standby task to the least loaded process without the task. Return the process, or None, and the number of processes that
        were polled."""
        given_to, polled = None, []
        while queue and given_to is None:
            process = queue.poll()
            polled.append(process)
            if task not in process.tasks:
                self._quota.given(process.give_to_least_loaded(task, process.standby))
                given_to = process
        for process in reversed(polled):
            queue.add(process.load, process)
        return given_to, len(polled)


def _grouped(tasks: Collection[Task]) -> TasksBySubtopology:
    found: dict[str, list[int]] = {}
    for subtopology, number in tasks:
        found.setdefault(subtopology, []).append(number)
    return {subtopology: tuple(sorted(numbers)) for subtopology, numbers in sorted(found.items())}
