"""Names the states of a streams group, and explains what is different from a consumer group.

A streams group has the epochs and the steps of a consumer group (`consumer.states`), but its members are not assigned partitions of the
topics to which they subscribe. They are the threads of a Kafka Streams application, all with the same *topology*, and are assigned *tasks*:
a subtopology and the number of the partitions that it reads there.

    topology    comes with the join that creates the group and stays with the group. Its topology epoch has nothing to do with the others.
    ready       the topology is checked against the topics whenever one of them has changed (`topology.configure`). While source topics
                are missing or have wrong partition counts, or internal topics are not created yet, the group is NotReady and the targets
                are empty. The broker creates internal topics in the background, because of a heartbeat (`internal_topics`).
    roles       an active task reads and writes, and belongs to one member of the group. A standby task keeps a copy of the active task's
                state, and is never in the process that has the task active. Several members with one process id are one process.
    delays      the first member of a group starts the initial rebalance delay; at its end a timer computes the target, which no timer does
                in other groups.

In Kafka: StreamsGroup, StreamsGroupMember, CurrentAssignmentBuilder of streams, ConfiguredTopology,
GroupMetadataManager.streamsGroupHeartbeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from groupmock_codec import group_states


class State(StrEnum):
    """The states of a streams group, with the names that StreamsGroupDescribe shows."""

    EMPTY = group_states.EMPTY
    NOT_READY = group_states.NOT_READY
    ASSIGNING = group_states.ASSIGNING
    RECONCILING = group_states.RECONCILING
    STABLE = group_states.STABLE
    DEAD = group_states.DEAD


_ALIVE: Final = tuple(state for state in State if state is not State.DEAD)
MAY_FOLLOW: Final[Mapping[str, Collection[str]]] = {
    **{state: tuple(each for each in (*_ALIVE, State.DEAD) if each is not state) for state in _ALIVE},
    State.DEAD: (),
}
"""Maps each state to the states that may follow it. All except Dead may be followed by any other, because one heartbeat may find changed
topics, raise the epoch, compute a target and reconcile."""
