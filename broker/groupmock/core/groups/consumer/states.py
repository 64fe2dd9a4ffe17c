"""The consumer group is a state machine with three epochs, in which members move to the newest epoch step by step
(docs/kafka/consumer-groups.md, CG-nn).

A classic group has a barrier: all members stop, one member assigns, all continue. A consumer group has none. The coordinator computes the
*target*, the partitions that each member is to have, and each member moves towards it by its own heartbeats, at its own pace. Nothing is
ever pushed, and no timer computes anything (CG-54, CG-106): every change happens during a member's heartbeat, or because heartbeats were
missing.

**Three epochs.** The *group epoch* grows with every change that needs another target: members, subscriptions, topics. The *assignment
epoch* is the group epoch for which the target was computed. A *member's epoch* is the assignment epoch that it has reached, after it
revoked the partitions that the target takes from it. A member that sends any other epoch is fenced (FENCED_MEMBER_EPOCH, 110) and starts
again with epoch 0. The exception is a member that lost an answer: it sends its previous epoch and owns only partitions that it was given
(CG-40).

    Empty        there are no members
    Assigning    the group epoch is ahead of the assignment epoch: the next heartbeat that may compute does (CG-54, CG-106)
    Reconciling  the target is computed, and some member has not reached it (CG-53, CG-61)
    Stable       every member is STABLE, at the assignment epoch (CG-51)

**A member's steps** (`reconciliation.reconcile`; CG-60 to CG-73):

    STABLE      has its partitions. If the target's epoch differs from its own it goes on to *next*.
    UNREVOKED   got a shorter assignment at its old epoch and has to revoke the rest; it goes on once a heartbeat lists its partitions
                without them. Until then a timer runs, its own rebalance timeout: a member that does not answer is fenced (CG-85).
    UNRELEASED  is at the new epoch and waits for partitions that others still hold; each heartbeat checks again. No timer (CG-87).
    next        if there is something to revoke that it still owns, or may own: UNREVOKED at the old epoch.
                Else the target's epoch, with all free partitions of the target: STABLE, or UNRELEASED while some are missing.

So two members never have the same partition: it is assigned again only after its holder released it in a heartbeat of its own, left, or was
fenced. That is why a new member is at the newest epoch at once, without partitions, and the member that must revoke is behind (CG-53).

In Kafka: ConsumerGroup (states), ConsumerGroupMember, CurrentAssignmentBuilder (a member's steps), TargetAssignmentBuilder,
GroupMetadataManager.consumerGroupHeartbeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from groupmock_codec import group_states


class State(StrEnum):
    """The states of a consumer group, with the names that ConsumerGroupDescribe shows."""

    EMPTY = group_states.EMPTY
    ASSIGNING = group_states.ASSIGNING
    RECONCILING = group_states.RECONCILING
    STABLE = group_states.STABLE
    DEAD = group_states.DEAD


class Progress(StrEnum):
    """The progress of a member towards its target, which Kafka calls MemberState. No request or answer contains it."""

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
"""Maps each state to the states that may follow it. All except Dead may be followed by any other, because one heartbeat may raise the
epoch, compute a target and reconcile."""

JOINING: Final = 0
"""The epoch that a member sends when it joins or rejoins."""
LEAVING: Final = -1
AWAY: Final = -2
"""The epoch that a static member sends when it leaves temporarily (CG-92)."""
FIRST_EPOCH: Final = 1
"""The group epoch of a new group in Kafka 4.3. The first member's join makes it 2 (CG-31)."""
