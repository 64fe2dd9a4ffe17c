"""The consumer group as a machine: three epochs, and how members follow the last one (docs/kafka/consumer-groups.md, CG-nn).

A classic group has a barrier: everybody stops, one member assigns, everybody goes on. A consumer group has none. The coordinator computes
who is to have what (the *target*), and each member moves towards it by its own heartbeats, at its own pace. Nothing is ever pushed, and no
timer computes anything (CG-54, CG-106): whatever changes, changes on somebody's heartbeat, or because somebody was not heard.

**Three epochs.** The *group epoch* grows with whatever calls for another target: who is in the group, what they subscribe to, what their
topics are. The *assignment epoch* is the group epoch for which the target was computed. A *member's epoch* is the assignment epoch that it
has reached: it has given up what that target takes from it. A member that sends another epoch than it has is fenced (110) and begins anew
with epoch 0, but for one that lost an answer: it comes with the epoch before and owns nothing that it was not given (CG-40).

    Empty        nobody is in it
    Assigning    the group epoch is ahead of the assignment epoch: the next heartbeat that may compute does (CG-54, CG-106)
    Reconciling  the target stands, and some member is not there yet (CG-53, CG-61)
    Stable       every member is STABLE, at the assignment epoch (CG-51)

**A member's way** (`reconciliation.reconcile`; CG-60 to CG-73):

    STABLE      has what it was given. When the target's epoch is another than its own it goes on: *next*.
    UNREVOKED   was told, by a shorter assignment at its old epoch, to give partitions up; it goes on once a heartbeat lists what it owns
                without them. Until then a timer runs, its own rebalance timeout: who does not answer is fenced (CG-85).
    UNRELEASED  is at the new epoch and waits for partitions that others still hold; each heartbeat looks again. No timer (CG-87).

    next        something to give up that it still owns, or may own: UNREVOKED at the old epoch.
                Else the target's epoch, with all of the target that nobody else holds: STABLE, or UNRELEASED while some is missing.

So a partition is never in two members' hands: it is handed on only after its holder, in a heartbeat of its own, said that it let go, left,
or was fenced. That is why a newcomer is at the newest epoch at once, with nothing, and the member that must give is behind (CG-53).

In Kafka: ConsumerGroup (states), ConsumerGroupMember, CurrentAssignmentBuilder (a member's way), TargetAssignmentBuilder,
GroupMetadataManager.consumerGroupHeartbeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from groupmock_codec import group_states


class State(StrEnum):
    """Kafka's own names, as ConsumerGroupDescribe writes them."""

    EMPTY = group_states.EMPTY
    ASSIGNING = group_states.ASSIGNING
    RECONCILING = group_states.RECONCILING
    STABLE = group_states.STABLE
    DEAD = group_states.DEAD


class Progress(StrEnum):
    """How far a member is with the target (Kafka's MemberState); nothing on the wire says it."""

    STABLE = "stable"
    UNREVOKED = "unrevoked partitions"
    UNRELEASED = "unreleased partitions"


MAY_FOLLOW: Final[Mapping[str, Collection[str]]] = {
    State.EMPTY: (State.ASSIGNING, State.RECONCILING, State.STABLE, State.DEAD),
    State.ASSIGNING: (State.RECONCILING, State.STABLE, State.EMPTY, State.DEAD),
    State.RECONCILING: (State.ASSIGNING, State.STABLE, State.EMPTY, State.DEAD),
    State.STABLE: (State.ASSIGNING, State.RECONCILING, State.EMPTY, State.DEAD),
    State.DEAD: (),
}
"""Any of the living may follow any other: one heartbeat may bump, compute and reconcile."""

JOINING: Final = 0
"""The epoch of who joins, or joins again."""
LEAVING: Final = -1
AWAY: Final = -2
"""The epoch of a static member that leaves and will be back (CG-92)."""
FIRST_EPOCH: Final = 1
"""The epoch of a new group on 4.3: its first member's join makes it 2 (CG-31)."""
