"""The classic group's states and what each answers: dispatch, tests and the docs page read these tables (spec 2.1, 2.4, 2.9-2.11, 3.1)."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final, NamedTuple

from . import codes


class State(StrEnum):
    """Kafka's own names, as DescribeGroups writes them."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


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


class Ask(StrEnum):
    """What can be asked of a group, after the checks that do not depend on its state (ids, generation, protocols, size)."""

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


MEMBERS_ASK: Final = frozenset(
    {Ask.JOIN_LEADER, Ask.JOIN_FOLLOWER, Ask.JOIN_CHANGED, Ask.JOIN_REPLACE, Ask.SYNC, Ask.HEARTBEAT, Ask.COMMIT_MEMBER}
)
"""What a member alone can ask. An Empty group has none, so that it has no rows for these: whoever tries is told by the check of its ids."""


class Do(Enum):
    """What a group does about it. A JoinGroup that starts a rebalance, or comes while one collects, waits until the join phase ends."""

    ANSWER = "answer at once"
    RESERVE = "reserve an id and answer"
    REBALANCE = "start a rebalance"
    COMPLETE = "end the join phase if nobody else is awaited"
    KEEP = "answer with the current generation; rebalance if another protocol is now selected"
    COLLECT = "park until the leader's SyncGroup"
    ASSIGNMENT = "answer the stored assignment"
    NOTHING = "nothing"
    DELETE = "delete the group and its offsets"


class Answer(NamedTuple):
    """What to do, the error code that goes with it, and whether the member's session starts again."""

    do: Do
    error: int = codes.NONE
    renews: bool = False


_UNKNOWN: Final = Answer(Do.ANSWER, codes.UNKNOWN_MEMBER_ID)
_IN_PROGRESS: Final = Answer(Do.ANSWER, codes.REBALANCE_IN_PROGRESS)
_FINE: Final = Answer(Do.ANSWER, codes.NONE, renews=True)

ANSWERS: Final[dict[tuple[State, Ask], Answer]] = {
    (EMPTY, Ask.JOIN_RESERVE): Answer(Do.RESERVE, codes.MEMBER_ID_REQUIRED),
    (EMPTY, Ask.JOIN_NEW): Answer(Do.REBALANCE),
    (EMPTY, Ask.LEFT): Answer(Do.NOTHING),
    (EMPTY, Ask.COMMIT_SIMPLE): Answer(Do.ANSWER),
    (EMPTY, Ask.DELETE): Answer(Do.DELETE),
    (PREPARING, Ask.JOIN_RESERVE): Answer(Do.RESERVE, codes.MEMBER_ID_REQUIRED),
    (PREPARING, Ask.JOIN_NEW): Answer(Do.COMPLETE),
    (PREPARING, Ask.JOIN_LEADER): Answer(Do.COMPLETE),
    (PREPARING, Ask.JOIN_FOLLOWER): Answer(Do.COMPLETE),
    (PREPARING, Ask.JOIN_CHANGED): Answer(Do.COMPLETE),
    (PREPARING, Ask.JOIN_REPLACE): Answer(Do.COMPLETE),
    (PREPARING, Ask.SYNC): _IN_PROGRESS,
    (PREPARING, Ask.HEARTBEAT): Answer(Do.ANSWER, codes.REBALANCE_IN_PROGRESS, renews=True),
    (PREPARING, Ask.LEFT): Answer(Do.COMPLETE),
    (PREPARING, Ask.COMMIT_MEMBER): _FINE,
    (PREPARING, Ask.COMMIT_SIMPLE): _UNKNOWN,
    (PREPARING, Ask.DELETE): Answer(Do.ANSWER, codes.NON_EMPTY_GROUP),
    (COMPLETING, Ask.JOIN_RESERVE): Answer(Do.RESERVE, codes.MEMBER_ID_REQUIRED),
    (COMPLETING, Ask.JOIN_NEW): Answer(Do.REBALANCE),
    (COMPLETING, Ask.JOIN_LEADER): Answer(Do.ANSWER),
    (COMPLETING, Ask.JOIN_FOLLOWER): Answer(Do.ANSWER),
    (COMPLETING, Ask.JOIN_CHANGED): Answer(Do.REBALANCE),
    (COMPLETING, Ask.JOIN_REPLACE): Answer(Do.REBALANCE),
    (COMPLETING, Ask.SYNC): Answer(Do.COLLECT),
    (COMPLETING, Ask.HEARTBEAT): _FINE,
    (COMPLETING, Ask.LEFT): Answer(Do.REBALANCE),
    (COMPLETING, Ask.COMMIT_MEMBER): _IN_PROGRESS,
    (COMPLETING, Ask.COMMIT_SIMPLE): _UNKNOWN,
    (COMPLETING, Ask.DELETE): Answer(Do.ANSWER, codes.NON_EMPTY_GROUP),
    (STABLE, Ask.JOIN_RESERVE): Answer(Do.RESERVE, codes.MEMBER_ID_REQUIRED),
    (STABLE, Ask.JOIN_NEW): Answer(Do.REBALANCE),
    (STABLE, Ask.JOIN_LEADER): Answer(Do.REBALANCE),
    (STABLE, Ask.JOIN_FOLLOWER): Answer(Do.ANSWER),
    (STABLE, Ask.JOIN_CHANGED): Answer(Do.REBALANCE),
    (STABLE, Ask.JOIN_REPLACE): Answer(Do.KEEP),
    (STABLE, Ask.SYNC): Answer(Do.ASSIGNMENT),
    (STABLE, Ask.HEARTBEAT): _FINE,
    (STABLE, Ask.LEFT): Answer(Do.REBALANCE),
    (STABLE, Ask.COMMIT_MEMBER): _FINE,
    (STABLE, Ask.COMMIT_SIMPLE): _UNKNOWN,
    (STABLE, Ask.DELETE): Answer(Do.ANSWER, codes.NON_EMPTY_GROUP),
}
"""(state, question) -> what happens. Dead has no rows: a group that dies leaves the registry in the same turn, and nobody finds it."""
