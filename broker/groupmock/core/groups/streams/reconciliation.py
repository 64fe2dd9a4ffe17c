"""Each heartbeat moves its member one step towards its target (CurrentAssignmentBuilder of streams; ST-80 to ST-95). `consumer.states`
explains the steps.

What differs from partitions: an active task is free only if no member of the group has it, and a standby task only has to be free in the
member's own process. Since Kafka 4.4 a change of role inside one member does not wait: a member that has to give up an active task has the
standby task of it at once, and a standby task stays until the member gets the active task of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..consumer.states import AWAY, Progress
from .group import NOTHING, Group, Member, Target, Tasks

if TYPE_CHECKING:
    from .beat import Owned
    from .tasks import Task


def reconcile(group: Group, member: Member, owned: Owned | None, converts: bool) -> bool:
    """Do the member's step towards its target for one heartbeat. `converts`: a change of role inside the member does not wait. Return True
    if its assigned tasks have changed."""
    changed = False
    there = member.progress is Progress.STABLE and member.epoch == group.assignment_epoch
    if not there and not (member.progress is Progress.UNREVOKED and still_owns(owned, member.revoking)):
        step = _Step(group, member, converts)
        changed = step.take(owned)
    group.watch(member)
    return changed


def still_owns(owned: Owned | None, lost: Tasks) -> bool:
    """True if the member owns, or may own, a task that it has to give up. That is False for empty lists."""
    return owned is None or not (owned.active.isdisjoint(lost.active) and owned.standby.isdisjoint(lost.standby))


class _Step:
    """A step of one member to the next epoch: what it keeps and loses, and what of its target is free."""

    def __init__(self, group: Group, member: Member, converts: bool) -> None:
        self._group, self._member, self._converts = group, member, converts
        self._target: Target = group.target_of(member)

    def take(self, owned: Owned | None) -> bool:
        group, member, target, has = self._group, self._member, self._target, self._member.assigned
        kept = {task: epoch for task, epoch in has.active.items() if task in target.active}
        stays = frozenset(task for task in has.standby if task in target.standby or (self._converts and task in target.active))
        lost = Tasks({task: epoch for task, epoch in has.active.items() if task not in kept}, frozenset(has.standby) - stays)
        epoch = member.epoch + 1 if member.progress is Progress.UNREVOKED else member.epoch
        member.previous_epoch = member.epoch
        if lost.any and still_owns(owned, lost):
            if self._converts:
                stays |= {task for task in lost.active if task in target.standby and not self._is_standby_blocked(task)}
            changed = group.give(member, Tasks(kept, stays), lost)
            member.epoch, member.progress = epoch, Progress.UNREVOKED
            return changed
        free = {task: group.assignment_epoch for task in target.active if task not in kept and not self._is_active_blocked(task)}
        stays = frozenset(task for task in stays if task not in free)
        added = {task for task in target.standby if task not in stays and not self._is_standby_blocked(task)}
        changed = group.give(member, Tasks({**kept, **free}, stays | added), NOTHING)
        member.epoch = group.assignment_epoch
        waits = len(member.assigned.active) < len(target.active) or not target.standby <= member.assigned.standby
        member.progress = Progress.UNRELEASED if waits else Progress.STABLE
        return changed

    def _is_active_blocked(self, task: Task) -> bool:
        """True if a member has the task active, or the process has it as standby. A member's own standby task becomes active in one
        step, even if another member of the process has not given it up yet (ST-93)."""
        if task in self._group.actives:
            return True
        if self._converts and task in self._member.assigned.standby:
            return False
        return self._group.stands_by(task, self._member.process_id)

    def _is_standby_blocked(self, task: Task) -> bool:
        """True if the process has the task as standby, or another member of the process has it active (ST-91, ST-94)."""
        group, member = self._group, self._member
        if group.stands_by(task, member.process_id):
            return True
        if self._converts and task in member.assigned.active:
            return False
        return group.runs(task, member.process_id)


def missing(group: Group, member: Member) -> list[Task]:
    """Return the tasks of the member's target that it was not assigned yet, because other members or processes hold them."""
    target, has = group.target_of(member), member.assigned
    return sorted({*(target.active - has.active.keys()), *(task for task in target.standby if task not in has.standby)})


def go_away(group: Group, member: Member) -> None:
    """Let a static member leave temporarily: the tasks that it is giving up become free at once, and the others are kept for it (ST-113).
    Any older epoch may commit for what is kept (ST-175)."""
    group.give(member, Tasks(dict.fromkeys(member.assigned.active, 0), member.assigned.standby), NOTHING)
    member.previous_epoch, member.epoch = member.epoch, AWAY
    member.progress = Progress.STABLE
    group.watch(member)
