"""Resolves the regular expressions in subscriptions of a group, and applies the result (CG-110 to CG-118).

A broker resolves them in the background: the member that brings an expression is answered first. It resolves at most every ten seconds,
all expressions of a group at once, and only if one was never resolved, topics were created since, or the last time is long ago
(GroupMetadataManager.maybeUpdateRegularExpressions, TopicRegexResolver). Here a timer that is due at once takes the place of the
background task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.units import NS_PER_MS

from ...budget import take
from ...effects import FOR_EVER, TimerFired
from ...turn import Turn
from .. import causes
from ..modern import settle
from ..refused import Refused
from .group import Group, Resolved

if TYPE_CHECKING:
    from ...log.topics import Topics
    from ...re2j.matching import Matcher
    from ...work import Steps

LEAST_INTERVAL_NS: Final = 10_000 * NS_PER_MS
"""The least time between two resolutions, which is Kafka's REGEX_BATCH_REFRESH_MIN_INTERVAL_MS."""


def matcher_of(turn: Turn, group: Group | None, topics: Topics, regex: str) -> Matcher | None:
    """Return the matcher of a regular expression that is new to the group, or None if the group has the expression already. Raises
    Refused if RE2 would refuse it, and OverBudget if the group would have too many expressions."""
    if group is not None and regex in group.expressions:
        return None
    from ...re2j.matching import compiled  # These imports come late, because most clusters have no regular expressions.
    from ...re2j.syntax import RegexRefused

    take(turn.settings, (1 + (0 if group is None else len(group.expressions))) * (1 + topics.count) + len(regex))
    try:
        return compiled(regex)
    except RegexRefused as bad:
        text = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {bad.detail}."
        raise Refused(error_codes.INVALID_REGULAR_EXPRESSION, text) from None


def resolve_soon(turn: Turn, group: Group, topics: Topics, last: Resolved | None) -> None:
    """Schedule the resolution of the group's regular expressions, if a resolution is due. `last` is the last resolution before this
    heartbeat. If the group's only expression was replaced by another, the former one counts until the next heartbeat finds none (CG-114;
    seen on 4.3.0)."""
    if wants_resolution(turn, group, topics) and (last is None or turn.now > last.at + LEAST_INTERVAL_NS):
        turn.timers.set(("regex", group.group_id), turn.now)


def wants_resolution(turn: Turn, group: Group, topics: Topics) -> bool:
    """True if a regular expression of the group was never resolved, topics were created since the last resolution, or that resolution is
    too old."""
    last = group.last_resolved()
    if last is None or len(group.resolved) < len(group.expressions) or last.made < topics.made:
        return True
    return turn.now > resolved_until(turn, group)


def resolved_until(turn: Turn, group: Group) -> int:
    """Return the time (ns of the run) until which the matches of the group's regular expressions are valid, if no topic is created."""
    last = group.last_resolved()
    return FOR_EVER if last is None else last.at + turn.settings.group_consumer_regex_refresh_interval_ms * NS_PER_MS


def resolve(turn: Turn, group: Group, topics: Topics) -> Steps:
    """Match all present topics against the group's regular expressions, and raise the group epoch if a new target is needed."""
    from ...re2j.matching import MOST_STEPS
    from ...re2j.syntax import RegexRefused

    names, made, began = topics.names(), topics.made, turn.now
    if group.may_describe is not None:
        names = list(filter(group.may_describe, names))
    refusals: dict[str, str] = {}
    resolved = {}
    for regex in group.expressions:
        matched: list[str] = []
        try:
            # All expressions of a group share one budget, and an expression that exceeds its share matches nothing.
            yield from group.matchers[regex].find(names, matched, MOST_STEPS // len(group.expressions))
        except RegexRefused as refused:
            refusals[regex] = refused.detail
            matched = []
        resolved[regex] = Resolved(frozenset(matched), began, made)
        yield
    why = _take(group, resolved)
    if why is not None:
        turn.out.append(TimerFired("regex", (group.group_id,)))
    for regex, reason in refusals.items():
        turn.note("expression_given_up", group=group.group_id, expression=regex, reason=reason)
    if why is not None:
        settle(turn, group, why, bumped=True)


def _take(group: Group, resolved: dict[str, Resolved]) -> causes.Why | None:
    """Store the new matches of the group's expressions, and return the cause for a new target, or None if none is needed."""
    before, group.resolved = group.resolved, resolved
    group.end_leases()
    matches = [regex for regex, now in resolved.items() if now.topics != (before[regex].topics if regex in before else frozenset())]
    # The subscribed topics may also have changed because an expression with matches was replaced by an expression without matches (CG-114).
    if not (group.refresh_topics() or matches):
        return None
    group.bump()
    told = next(iter(matches or [regex for regex in resolved if regex not in before]), None)
    return causes.TOPICS_CHANGED if told is None else causes.regex_resolved(told, len(resolved[told].topics))
