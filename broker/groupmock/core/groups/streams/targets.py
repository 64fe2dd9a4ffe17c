"""Computes the targets of a streams group's members (streams.TargetAssignmentBuilder; ST-90, ST-120 to ST-125, ST-220)."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from ...turn import Turn
from ..consumer.assignors.spec import Effort, Steps
from .group import NO_TARGET, Group, Member, Sums, Target
from .sticky_assignor import Assigned, Seen, assign

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .tasks import Task, TasksBySubtopology

NAME: Final = "sticky"
"""The name of the only assignor of Kafka 4.4."""
NO_SUMS: Final[Sums] = {}


def compute(turn: Turn, group: Group, heard: Member | None) -> Steps[None]:
    """Compute the target for the present group epoch. `heard` is the member of the heartbeat that computes, or None if a timer does.
    Without a topology that is ready nobody has tasks (ST-60)."""
    configured = group.shown or group.configured
    if configured is None or configured.status is not None:
        group.assign(dict.fromkeys(group.members, NO_TARGET), turn.now, NAME)
        return
    effort, last_targets = Effort(), turn.quirks.streams_assignor_reads_targets
    newcomers = () if heard is None or heard.member_id in group.table else (heard.member_id,)
    seen = []
    for member_id in chain(group.table, newcomers):
        member = group.members.get(member_id)
        if member is None:  # A replaced static member is still in the table.
            continue
        if last_targets:
            target = group.targets.get(member_id, NO_TARGET)
            seen.append(Seen(member_id, member.process_id, target.active, target.standby, NO_SUMS))
        else:
            seen.append(Seen(member_id, member.process_id, [*member.assigned.active], member.assigned.standby, member.offsets))
        if effort.spend(2):
            yield
    assigned = yield from assign(seen, configured.tasks, configured.stateful, group.standbys, effort, before_4_4=last_targets)
    targets = {}
    for member_id, each in assigned.items():
        targets[member_id] = _target(each)
        if effort.spend(1 + len(targets[member_id].active) + len(targets[member_id].standby)):
            yield
    group.assign(targets, turn.now, NAME)


def _target(assigned: Assigned) -> Target:
    return Target(frozenset(_spread(assigned.active)), frozenset(_spread(assigned.standby)))


def _spread(tasks: TasksBySubtopology) -> Iterable[Task]:
    return ((subtopology, number) for subtopology, numbers in tasks.items() for number in numbers)
