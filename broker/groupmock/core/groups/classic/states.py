"""The classic group as a state machine: its states, and the answer of each state to each request. Dispatch, tests and the page of states
read these tables.

A classic group agrees on its members and its leader, and carries the leader's message to each member. The broker understands neither the
metadata nor the assignments. It offers two barriers: JoinGroup waits for the members and names a generation and a leader, and SyncGroup
lets all wait for the leader's assignments.

    Empty --join--> PreparingRebalance --everybody joined, or time is up--> CompletingRebalance --the leader's SyncGroup--> Stable
      ^                 |     ^                                                    |                                          |
      +--no members left-+     +---- a member joins, changes, leaves, expires, or sends no SyncGroup in time --------------------+

From every state a group may become Dead, and is removed. In Kafka: ClassicGroup and ClassicGroupState for the data, GroupMetadataManager's
methods `classicGroup...` for the behaviour; up to 3.9 GroupCoordinator.scala, whose differences are quirks (core.settings.Quirks).
docs/kafka/group-protocol.md has all rules with numbers (SERVER-nn), as checked on Kafka 4.3.0, 3.9.1 and 2.8.2.

**Order of checks.** The ids come first (UNKNOWN_MEMBER_ID (25), FENCED_INSTANCE_ID (82)), then the generation (ILLEGAL_GENERATION (22)),
then SyncGroup's type and name (INCONSISTENT_GROUP_PROTOCOL (23)), and the state last. So a cell of the table is about members of the
current generation, and requests that only members can send have no cell in Empty.

**A generation** is a completed join phase. The number grows when the phase ends, not when it begins, and also when it ends without members
(SERVER-11): during PreparingRebalance the old generation is still the current one. Two surprising rules follow:

* Heartbeat is answered REBALANCE_IN_PROGRESS (27) in PreparingRebalance but 0 in CompletingRebalance (SERVER-42): 27 means "join again",
  and in CompletingRebalance all members have just done so. The answer renews the session in both, so that a member does not expire because
  of it (SERVER-43).
* OffsetCommit is accepted in PreparingRebalance and refused (27) in CompletingRebalance (SERVER-50): in the former a member commits its
  work in the generation that it still has, in the latter it has a new one and no partitions yet.

**Joining again** with the same list (the same names and metadata, in the same order; SERVER-19) means that the member lost its answer or
wants a rebalance. A follower of a Stable group, and any member in CompletingRebalance, gets the answer again, and no other member notices
(SERVER-17, SERVER-20). A leader of a Stable group wants a rebalance: only the leader sees that partitions were added (SERVER-18). A changed
list always rebalances.

**Ids.** The broker assigns member ids and never accepts one again after its removal: a removed member gets UNKNOWN_MEMBER_ID (25) in every
API, at any time, and must join without an id. Ids that never existed get the same answer, and so do groups that do not exist, which a
JoinGroup with an id does not create (SERVER-04, SERVER-05). A JoinGroup v4+ without id and instance id adds no member: it is answered
MEMBER_ID_REQUIRED (79) with an id for the next attempt (KIP-394). Otherwise clients that time out and retry would leave a dead member
behind each time, and each of these would cost the group a rebalance timeout. The id is only reserved and is not a member, but the join
phase waits for it as for a member (SERVER-27).

**Instances** (KIP-345). A group.instance.id represents a process that may come back. It joins without MEMBER_ID_REQUIRED, it is not removed
when it misses a join phase, and when it joins without its member id it gets a new one in the place of the old: *static replacement*. A
process that then uses the old id and the instance id is fenced (FENCED_INSTANCE_ID, 82) and must stop, because otherwise two processes
would replace each other for ever; with the old id alone it is unknown (25). In Stable the group keeps its generation, unless the vote
changes, because instance ids exist for restarts that do not disturb the others (SERVER-33, module replacement). In CompletingRebalance the
leader may be assigning to the old id, so the group starts over (SERVER-36).

**Not states.** A group whose partition of __consumer_offsets is being loaded does not exist yet. Before the state matters, the gate
(core.hosting) answers COORDINATOR_LOAD_IN_PROGRESS (14), but 0 to a Heartbeat, so that a move of the coordinator is no reason to join again
(SERVER-48). After loading the group is Stable or Empty, because only these two are ever written. Dead lasts for an instant only: the
registry forgets the group in the same turn.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final

import msgspec

from groupmock_codec import error_codes, group_states


class State(StrEnum):
    """The states of a classic group, with the names that DescribeGroups shows."""

    EMPTY = group_states.EMPTY
    PREPARING = group_states.PREPARING_REBALANCE
    COMPLETING = group_states.COMPLETING_REBALANCE
    STABLE = group_states.STABLE
    DEAD = group_states.DEAD

    __hash__ = str.__hash__  # Every request looks up a state in a dict, and Enum's own hash is slow because it is written in Python.


EMPTY: Final = State.EMPTY
PREPARING: Final = State.PREPARING
COMPLETING: Final = State.COMPLETING
STABLE: Final = State.STABLE
DEAD: Final = State.DEAD

MAY_FOLLOW: Final[dict[State, frozenset[State]]] = {
    EMPTY: frozenset({PREPARING, DEAD}),
    PREPARING: frozenset({COMPLETING, EMPTY, DEAD}),
    COMPLETING: frozenset({STABLE, PREPARING, DEAD}),
    STABLE: frozenset({PREPARING, DEAD}),
    DEAD: frozenset(),
}
"""Maps each state to the states that may follow it. Any other transition is an internal error."""


class Question(StrEnum):
    """The requests and events that a group answers by its state, after the checks that do not depend on the state (ids, generation,
    protocols, size)."""

    JOIN_RESERVE = "JoinGroup v4+ without member id and instance id"
    JOIN_NEW = "JoinGroup of a newcomer: reserved id, v0-3 without id, or a new instance id"
    JOIN_LEADER = "JoinGroup of the leader with identical protocols"
    JOIN_FOLLOWER = "JoinGroup of another member with identical protocols"
    JOIN_CHANGED = "JoinGroup of a member with changed protocols"
    JOIN_REPLACE = "JoinGroup without member id, with a known instance id"
    SYNC = "SyncGroup of a member in the current generation"
    HEARTBEAT = "Heartbeat of a member in the current generation"
    LEFT = "after a member left or expired, or a reserved id left"
    COMMIT_MEMBER = "OffsetCommit of a member in the current generation"
    COMMIT_SIMPLE = "OffsetCommit with a generation below 0 and no ids"
    DELETE = "DeleteGroups"

    __hash__ = str.__hash__


# Each request looks up a question, and a look-up in an enumeration takes 0.1 us on Python 3.11, so the most frequent questions are module
# constants.
JOIN_RESERVE: Final = Question.JOIN_RESERVE
JOIN_NEW: Final = Question.JOIN_NEW
SYNC: Final = Question.SYNC
HEARTBEAT: Final = Question.HEARTBEAT

MEMBERS_ASK: Final = frozenset(
    {
        Question.JOIN_LEADER,
        Question.JOIN_FOLLOWER,
        Question.JOIN_CHANGED,
        Question.JOIN_REPLACE,
        Question.SYNC,
        Question.HEARTBEAT,
        Question.COMMIT_MEMBER,
    }
)
"""The requests that only a member can send. An Empty group has no rows for these, because without members the check of the ids answers
first."""


class Do(Enum):
    """The actions of a classic group. A JoinGroup that starts a rebalance, or comes during a join phase, is parked until the phase ends."""

    ANSWER = "answer at once"
    RESERVE = "reserve an id and answer"
    REBALANCE = "start a rebalance"
    COMPLETE = "end the join phase if nobody else is awaited"
    KEEP = "answer with the current generation; rebalance if another protocol is now selected"
    COLLECT = "park until the leader's SyncGroup"
    ASSIGNMENT = "answer the stored assignment"
    NOTHING = "nothing"
    DELETE = "delete the group and its offsets"


RESERVE: Final = Do.RESERVE
REBALANCE: Final = Do.REBALANCE
COMPLETE: Final = Do.COMPLETE
COLLECT: Final = Do.COLLECT


class Answer(msgspec.Struct, frozen=True):
    """An action, its error code, and whether the member's session starts again."""

    do: Do
    error: int = error_codes.NONE
    renews: bool = False


_UNKNOWN: Final = Answer(Do.ANSWER, error_codes.UNKNOWN_MEMBER_ID)
_IN_PROGRESS: Final = Answer(Do.ANSWER, error_codes.REBALANCE_IN_PROGRESS)
_FINE: Final = Answer(Do.ANSWER, error_codes.NONE, renews=True)

ANSWERS: Final[dict[tuple[State, Question], Answer]] = {
    (EMPTY, Question.JOIN_RESERVE): Answer(Do.RESERVE, error_codes.MEMBER_ID_REQUIRED),
    (EMPTY, Question.JOIN_NEW): Answer(Do.REBALANCE),
    (EMPTY, Question.LEFT): Answer(Do.NOTHING),
    (EMPTY, Question.COMMIT_SIMPLE): Answer(Do.ANSWER),
    (EMPTY, Question.DELETE): Answer(Do.DELETE),
    (PREPARING, Question.JOIN_RESERVE): Answer(Do.RESERVE, error_codes.MEMBER_ID_REQUIRED),
    (PREPARING, Question.JOIN_NEW): Answer(Do.COMPLETE),
    (PREPARING, Question.JOIN_LEADER): Answer(Do.COMPLETE),
    (PREPARING, Question.JOIN_FOLLOWER): Answer(Do.COMPLETE),
    (PREPARING, Question.JOIN_CHANGED): Answer(Do.COMPLETE),
    (PREPARING, Question.JOIN_REPLACE): Answer(Do.COMPLETE),
    (PREPARING, Question.SYNC): _IN_PROGRESS,
    # REBALANCE_IN_PROGRESS (27) tells the member to join again. The answer renews the session, because a rebalance may outlast it
    # (SERVER-43).
    (PREPARING, Question.HEARTBEAT): Answer(Do.ANSWER, error_codes.REBALANCE_IN_PROGRESS, renews=True),
    (PREPARING, Question.LEFT): Answer(Do.COMPLETE),
    # The old generation is still the current one, so a member may commit what it has processed in it (SERVER-50).
    (PREPARING, Question.COMMIT_MEMBER): _FINE,
    (PREPARING, Question.COMMIT_SIMPLE): _UNKNOWN,
    (PREPARING, Question.DELETE): Answer(Do.ANSWER, error_codes.NON_EMPTY_GROUP),
    (COMPLETING, Question.JOIN_RESERVE): Answer(Do.RESERVE, error_codes.MEMBER_ID_REQUIRED),
    (COMPLETING, Question.JOIN_NEW): Answer(Do.REBALANCE),
    # Nothing has changed since the join phase ended, so a leader that rejoins must have missed its answer, which is sent again, to
    # followers too (SERVER-20).
    (COMPLETING, Question.JOIN_LEADER): Answer(Do.ANSWER),
    (COMPLETING, Question.JOIN_FOLLOWER): Answer(Do.ANSWER),
    (COMPLETING, Question.JOIN_CHANGED): Answer(Do.REBALANCE),
    # The group rebalances, because the leader may be assigning partitions to the id that was replaced (SERVER-36).
    (COMPLETING, Question.JOIN_REPLACE): Answer(Do.REBALANCE),
    (COMPLETING, Question.SYNC): Answer(Do.COLLECT),
    (COMPLETING, Question.HEARTBEAT): _FINE,
    (COMPLETING, Question.LEFT): Answer(Do.REBALANCE),
    # The member has joined the new generation, but has no partitions yet for which to commit (SERVER-50).
    (COMPLETING, Question.COMMIT_MEMBER): _IN_PROGRESS,
    (COMPLETING, Question.COMMIT_SIMPLE): _UNKNOWN,
    (COMPLETING, Question.DELETE): Answer(Do.ANSWER, error_codes.NON_EMPTY_GROUP),
    (STABLE, Question.JOIN_RESERVE): Answer(Do.RESERVE, error_codes.MEMBER_ID_REQUIRED),
    (STABLE, Question.JOIN_NEW): Answer(Do.REBALANCE),
    # Only the leader sees that partitions were added, and rejoining is its only way to request a rebalance (SERVER-18).
    (STABLE, Question.JOIN_LEADER): Answer(Do.REBALANCE),
    # A follower rejoins unchanged only because it missed its answer, which is no reason to disturb the other members (SERVER-17).
    (STABLE, Question.JOIN_FOLLOWER): Answer(Do.ANSWER),
    (STABLE, Question.JOIN_CHANGED): Answer(Do.REBALANCE),
    (STABLE, Question.JOIN_REPLACE): Answer(Do.KEEP),
    (STABLE, Question.SYNC): Answer(Do.ASSIGNMENT),
    (STABLE, Question.HEARTBEAT): _FINE,
    (STABLE, Question.LEFT): Answer(Do.REBALANCE),
    (STABLE, Question.COMMIT_MEMBER): _FINE,
    (STABLE, Question.COMMIT_SIMPLE): _UNKNOWN,
    (STABLE, Question.DELETE): Answer(Do.ANSWER, error_codes.NON_EMPTY_GROUP),
}
"""Maps each state and request to the group's action. Dead has no rows, because a dead group leaves the registry in the same turn."""
