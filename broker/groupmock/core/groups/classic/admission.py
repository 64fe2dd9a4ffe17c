"""Checks whether a classic group allows a request: to commit its offsets, to delete them, or to delete the group
(docs/kafka/offsets.md#offsetcommit)."""

from __future__ import annotations

from groupmock_codec import error_codes

from ...turn import Turn
from ..type import Base, Committer
from . import membership, sessions
from .group import Group
from .states import ANSWERS, EMPTY, STABLE, Do, Question


def commit(turn: Turn, group: Group, by: Committer) -> int:
    """Return the error with which the group refuses an OffsetCommit, or 0 (SERVER-50, SERVER-51). If the member may commit, its session
    is renewed."""
    # The state is checked before the ids, because an Empty group accepts a commit without a generation whatever the ids are
    # (docs/kafka/offsets.md#c2).
    if not by.named or (by.generation < 0 and group.state is EMPTY):
        return ANSWERS[group.state, Question.COMMIT_SIMPLE].error
    error = membership.validate(turn, group, by.member_id, by.group_instance_id)
    if not error and by.generation != group.generation:
        error = error_codes.ILLEGAL_GENERATION
    if error:
        return error
    answer = ANSWERS[group.state, Question.COMMIT_MEMBER]
    if answer.renews:
        sessions.renew(turn, group, group.members[by.member_id])
    return answer.error


def transactional_commit(turn: Turn, group: Group, by: Committer) -> int:
    """Return the error with which the group refuses a TxnOffsetCommit, or 0 (KIP-447; TX-75). A request without ids and generation
    passes, and the state is not checked. No session is renewed."""
    if not by.named or (by.generation < 0 and group.state is EMPTY):
        return error_codes.NONE
    error = membership.validate(turn, group, by.member_id, by.group_instance_id)
    return error or (error_codes.NONE if by.generation == group.generation else error_codes.ILLEGAL_GENERATION)


def deletion(group: Group) -> int:
    answer = ANSWERS[group.state, Question.DELETE]
    return error_codes.NONE if answer.do is Do.DELETE else answer.error


def offset_deletion(group: Group) -> int:
    """Return the error with which the group as a whole refuses an OffsetDelete, or 0. If it has members, their subscriptions decide for
    each topic, and only consumers have subscriptions (SERVER-56)."""
    readable = group.state is EMPTY or group.protocol_type == "consumer"
    return error_codes.NONE if readable else error_codes.NON_EMPTY_GROUP


def offsets_age_from(group: Group) -> Base | None:
    """Return the function that gives the time from which the age of a committed offset counts, or None if offsets do not expire now
    (KIP-211; SERVER-57).

    An offset ages from the moment when nothing can use it any more: since the group became Empty; in a Stable group since the commit, for
    topics without subscribers; and in a group that only ever commits (no protocol type) since the commit. While a group rebalances, or if
    its subscriptions cannot be read, nothing expires, because the topics in use are unknown."""
    if group.protocol_type is None:
        return lambda offset: offset.commit_ms
    if group.state is EMPTY:
        return lambda offset: group.state_since_ms
    if group.state is STABLE and group.protocol_type == "consumer" and group.subscribed.topics is not None:
        return lambda offset: offset.commit_ms
    return None
