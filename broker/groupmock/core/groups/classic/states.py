"""The classic group as a machine: its states, and what each of them answers. Dispatch, tests and the page of states read these tables.

A classic group agrees on two things, who is in it and who decides, and carries one message from the one who decides to everybody. The
broker understands neither the metadata nor the assignments. It offers two barriers: JoinGroup, where it waits for the members and names a
generation and a leader, and SyncGroup, where all wait for what the leader made of it.

    Empty --join--> PreparingRebalance --everybody joined, or time is up--> CompletingRebalance --the leader's SyncGroup--> Stable
      ^                 |     ^                                                    |                                          |
      +--nobody is left-+     +---- somebody joins, changes, leaves, expires, or owes a SyncGroup for too long ---------------+

From every state a group may become Dead, and is gone. In Kafka: ClassicGroup and ClassicGroupState for the data, GroupMetadataManager's
methods `classicGroup...` for the behaviour; up to 3.9 GroupCoordinator.scala, whose differences are quirks (core.settings.Quirks).
docs/kafka/group-protocol.md says all of it with numbers (SERVER-nn) that Kafka 4.3.0, 3.9.1 and 2.8.2 were asked about.

**Order of checks.** Ids first (25, 82), then the generation (22), then SyncGroup's type and name (23), the state last. So a cell of the
table speaks of members of the current generation; what only members ask has no cell in Empty.

**A generation** is a completed join phase. The number grows when the phase ends, not when it begins, and also when it ends with nobody
(SERVER-11): during PreparingRebalance the old generation is still the current one. Two rules that look the wrong way round follow:

* Heartbeat is 27 in PreparingRebalance but 0 in CompletingRebalance (SERVER-42): 27 means "join again", and in CompletingRebalance
  everybody has just done so. The answer renews the session in both; the news does not cost a member its place (SERVER-43).
* OffsetCommit is taken in PreparingRebalance and refused (27) in CompletingRebalance (SERVER-50): in the former a member commits what it
  did in the generation that it still has, in the latter it has a new one and was given nothing to commit for.

**Who joins again** with the list it had (the same names and metadata, in the same order; SERVER-19) either lost its answer or wants
something. A follower of a Stable group, and anybody in CompletingRebalance, is given the answer again, and nobody else notices
(SERVER-17, SERVER-20). A leader of a Stable group wants a rebalance: it alone sees that partitions were added (SERVER-18). A changed list
always rebalances.

**Ids.** A member id is the broker's and is never taken back: whoever was removed gets 25 in every API, at any time, and must join without
an id. The same 25 is given for ids that never were, and for a group that does not exist, which a JoinGroup with an id does not create
(SERVER-04, SERVER-05). A JoinGroup v4+ without id and instance id adds nobody: it is answered MEMBER_ID_REQUIRED (79) with an id to come
back with (KIP-394), because clients that time out and ask again used to leave a ghost behind each time, and every ghost cost the group a
rebalance timeout. The id is only reserved, no member, but the join phase waits for it as for one (SERVER-27).

**Instances** (KIP-345). A group.instance.id stands for a process that may come back. It joins without 79, it is not dropped when it
misses a join phase, and when it joins without its member id it is given a new one in the place of the old: *static replacement*. Whoever
then speaks with the old id and the instance id is fenced (82) and must stop, since two processes would otherwise take each other's place
for ever; with the old id alone it is a stranger (25). In Stable the group keeps its generation, unless the vote changes: a restart that
costs nobody anything is what instance ids are for (SERVER-33, module replacement). In CompletingRebalance the leader may be assigning to
the old id, so the group starts over (SERVER-36).

**What is no state.** A group whose partition of __consumer_offsets is being loaded is not there yet: the gate (core.hosting) answers 14
before a state is asked for, and Heartbeat 0, so that a move of the coordinator is no reason to join again (SERVER-48). Loaded, it is
Stable or Empty, never in between: only those two are ever written. Dead is a name for an instant: the registry forgets the group in the
same turn.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final

import msgspec

from groupmock_codec import error_codes, group_states


class State(StrEnum):
    """Kafka's own names, as DescribeGroups writes them."""

    EMPTY = group_states.EMPTY
    PREPARING = group_states.PREPARING_REBALANCE
    COMPLETING = group_states.COMPLETING_REBALANCE
    STABLE = group_states.STABLE
    DEAD = group_states.DEAD

    __hash__ = str.__hash__  # every request looks its cell up, and Enum's own is not C


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
"""State -> the states that may come next. Anything else is an internal error."""


class Question(StrEnum):
    """The questions that a group is asked after the checks that do not depend on its state (ids, generation, protocols, size)."""

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


# A look-up in an enumeration costs 0.1 us on Python 3.11, and every request makes one: what is asked most has a name of its own.
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
"""The questions that only a member can ask. An Empty group has no member, so it has no rows for these: the check of the ids answers
first."""


class Do(Enum):
    """The actions of a group. A JoinGroup that starts a rebalance, or comes while one collects, is parked until the join phase ends."""

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
    """An action, the error code that goes with it, and whether the member's session starts again."""

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
    # 27 means "join again", and a rebalance may outlast a session: the news does not cost a member its place (SERVER-43)
    (PREPARING, Question.HEARTBEAT): Answer(Do.ANSWER, error_codes.REBALANCE_IN_PROGRESS, renews=True),
    (PREPARING, Question.LEFT): Answer(Do.COMPLETE),
    # The old generation is still the current one: a member commits what it did in it (SERVER-50)
    (PREPARING, Question.COMMIT_MEMBER): _FINE,
    (PREPARING, Question.COMMIT_SIMPLE): _UNKNOWN,
    (PREPARING, Question.DELETE): Answer(Do.ANSWER, error_codes.NON_EMPTY_GROUP),
    (COMPLETING, Question.JOIN_RESERVE): Answer(Do.RESERVE, error_codes.MEMBER_ID_REQUIRED),
    (COMPLETING, Question.JOIN_NEW): Answer(Do.REBALANCE),
    # Nothing has changed since the phase ended, so its answer was lost: it is given again, to followers too (SERVER-20)
    (COMPLETING, Question.JOIN_LEADER): Answer(Do.ANSWER),
    (COMPLETING, Question.JOIN_FOLLOWER): Answer(Do.ANSWER),
    (COMPLETING, Question.JOIN_CHANGED): Answer(Do.REBALANCE),
    # The leader may be assigning to the id that was replaced (SERVER-36)
    (COMPLETING, Question.JOIN_REPLACE): Answer(Do.REBALANCE),
    (COMPLETING, Question.SYNC): Answer(Do.COLLECT),
    (COMPLETING, Question.HEARTBEAT): _FINE,
    (COMPLETING, Question.LEFT): Answer(Do.REBALANCE),
    # It has a new generation and was given nothing yet to commit for (SERVER-50)
    (COMPLETING, Question.COMMIT_MEMBER): _IN_PROGRESS,
    (COMPLETING, Question.COMMIT_SIMPLE): _UNKNOWN,
    (COMPLETING, Question.DELETE): Answer(Do.ANSWER, error_codes.NON_EMPTY_GROUP),
    (STABLE, Question.JOIN_RESERVE): Answer(Do.RESERVE, error_codes.MEMBER_ID_REQUIRED),
    (STABLE, Question.JOIN_NEW): Answer(Do.REBALANCE),
    # It alone sees that partitions were added, and has no other way to say so (SERVER-18)
    (STABLE, Question.JOIN_LEADER): Answer(Do.REBALANCE),
    # A lost answer is no reason to disturb the others (SERVER-17)
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
"""(state, question) -> what happens. Dead has no rows: a group that dies leaves the registry in the same turn, and nobody finds it."""
