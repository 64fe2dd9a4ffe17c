"""Stores the start offsets of share partitions in the background, as a broker does after a heartbeat (SG-31, SG-32, SG-43).

A heartbeat that finds partitions of subscribed topics without a stored start offset asks for them, and is answered without them. A timer
that is due at once takes the place of the broker's requests to the share coordinator. In Kafka:
GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest and initializeShareGroupState.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...log import names
from ...log.internal import try_make
from .group import Group, Initializing

if TYPE_CHECKING:
    from ...turn import Turn

TIMER: Final = "share_initialize"
BY_RESET: Final = -1
"""The start offset of a partition that the first fetch decides."""


def ask(turn: Turn, group: Group) -> None:
    """Ask for the start offsets of all partitions of subscribed topics that have none, if any."""
    topics = group.home.topics
    for name in group.subscribers:
        topic = topics.get(name)
        if topic is None:
            continue
        before, pending = group.initialized.get(topic.topic_id, frozenset()), group.initializing.get(topic.topic_id)
        known = before if pending is None else before | pending.partitions
        if len(known) < len(topic.partitions):
            missing = frozenset(range(len(topic.partitions))) - known
            # Partitions that are added to a topic of the group start at 0, because their records came after the group's beginning.
            later = bool(known) and not turn.quirks.added_share_partitions_reset
            group.ask_for(topic.topic_id, Initializing(missing, group.generation, 0 if later else BY_RESET))
    if group.initializing:
        turn.timers.set((TIMER, group.group_id), turn.now)


def finish(turn: Turn, group: Group) -> None:
    """Store the start offsets that were asked for. The next heartbeat of any member computes a target with these partitions."""
    try_make(turn, group.home.topics, names.SHARE_TOPIC)
    for topic_id, wanted in list(group.initializing.items()):
        name = group.home.topics.name_of(topic_id)
        if name is None:
            group.uninitialize(topic_id)
            continue
        partitions = sorted(wanted.partitions)
        group.states().initialize(turn, group.group_id, topic_id, partitions, wanted.epoch, wanted.start_offset)
        group.initialize(topic_id, wanted.partitions)
        turn.note("share_initialized", group=group.group_id, topic=name, partitions=partitions, start_offset=wanted.start_offset)
