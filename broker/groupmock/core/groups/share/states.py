"""Names the states of a share group, and explains its epochs, which are the theory behind its heartbeats.

A share group has the epochs of a consumer group (KIP-848), but nothing to reconcile: a member takes its new target with its next heartbeat,
because several members may have the same partition. Which records a member gets is decided where the partition's leader is (core/share).

    joins       the group epoch is raised and a target computed, in which are only partitions that are initialised: those whose start
                offset is stored. The first join of a topic starts that in the background, and is answered with nothing.
    initialised the next heartbeat of any member raises the group epoch again, and computes a target with these partitions (SG-32).
    heartbeat   a member whose epoch is not that of the target takes its target and the target's epoch (SG-42).
    leaves      the group epoch is raised; the next heartbeat of another member computes the target (SG-54).

The group is Stable as long as it has members, even if a target is to be computed (SG-54).

In Kafka: ShareGroup, ShareGroupMember, ShareGroupAssignmentBuilder, GroupMetadataManager.shareGroupHeartbeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from groupmock_codec import group_states


class State(StrEnum):
    """The states of a share group, with the names that ShareGroupDescribe shows."""

    EMPTY = group_states.EMPTY
    STABLE = group_states.STABLE
    DEAD = group_states.DEAD


MAY_FOLLOW: Final[Mapping[str, Collection[str]]] = {
    State.EMPTY: (State.STABLE, State.DEAD),
    State.STABLE: (State.EMPTY, State.DEAD),
    State.DEAD: (),
}
"""Maps each state to the states that may follow it."""
