"""What the log remembers of a consumer group: all of it, as every change is a record of its own (ConsumerGroupMetadata..., ...Member...,
...TargetAssignment..., ...CurrentMemberAssignment..., ...RegularExpression records). So what is stored is what is, until a load asks.

When another target may be computed is not written: the first one after a load is not delayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from ...re2j.matching import compiled
from ...turn import Turn
from . import timing
from .group import Group, Member, Resolved, no_session
from .states import Progress

if TYPE_CHECKING:
    from .assignors import Target


class StoredGroup(msgspec.Struct, frozen=True):
    """A group without its timers. `topics`: those it subscribes to, as they were."""

    generation: int
    assignment_epoch: int
    members: tuple[Member, ...]
    targets: Mapping[str, Target]
    topics: Mapping[str, tuple[bytes, int]]
    resolved: Mapping[str, Resolved]


def stored(group: Group) -> StoredGroup:
    """What its records say now."""
    members = tuple(msgspec.structs.replace(member, session=no_session(), former_instances=()) for member in group.ordered())
    return StoredGroup(group.generation, group.assignment_epoch, members, dict(group.targets), dict(group.topics), dict(group.resolved))


def restore(turn: Turn, group: Group, record: StoredGroup) -> None:
    """Every member is back where it was, and its timers begin anew (GroupMetadataManager.onLoaded)."""
    members = [msgspec.structs.replace(member) for member in record.members]
    group.refill(record.generation, record.assignment_epoch, members, dict(record.targets))
    group.topics, group.resolved, group.stale = dict(record.topics), dict(record.resolved), True
    group.matchers = {regex: compiled(regex) for regex in group.expressions}
    for member in group.members.values():
        timing.renew(turn, group, member, member.session_timeout_ms)
        if member.progress is Progress.UNREVOKED:
            timing.await_revocation(turn, group, member)
