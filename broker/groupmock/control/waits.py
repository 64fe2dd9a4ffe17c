"""Routes that wait for a group's state or for a fault rule. `queries` waits for journal rows."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..core.groups.view import GroupView
from ..server import fault_wait, group_wait
from .context import ControlContext
from .route import ControlCall, NotInTime
from .rules import RuleState, state_of

Seconds = Annotated[float, Meta(description="seconds", ge=0, le=3600)]


class GroupWait(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The conditions on a group to wait for, all of which have to hold. Without conditions the group has to exist."""

    state: Annotated[str | None, Meta(description=f"Kafka's name of a state: {', '.join(group_wait.STATES)} (gone)")] = None
    members: Annotated[int | None, Meta(description="so many members")] = None
    member: Annotated[str | None, Meta(description="a member of that member id, instance id or client id")] = None
    generation: Annotated[int | None, Meta(description="that generation or a later one")] = None
    assignment: Annotated[
        str | None,
        Meta(description='topics that are assigned whole: orders,payments; or who has exactly what: {"anna": ["orders/0"]}'),
    ] = None
    offsets: Annotated[str | None, Meta(description="committed so far or further: orders/0=17,orders/1=3")] = None
    lag: Annotated[int | None, Meta(description="at most so many records of its partitions are not committed")] = None
    acquired: Annotated[int | None, Meta(description="members of a share group have at most so many records")] = None
    deliveries: Annotated[int | None, Meta(description="a record of a share group that is not done was delivered at least so often")] = None
    tasks: Annotated[str | None, Meta(description='the active tasks of members of a streams group: {"anna": ["0_1"]}')] = None
    standbys: Annotated[str | None, Meta(description='the standby tasks of members of a streams group: {"anna": ["0_1"]}')] = None
    timeout: Seconds = 10.0


class FaultWait(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The number of times that a rule has to fire, and the timeout."""

    hits: Annotated[int, Meta(description="until it fired so often", ge=1)] = 1
    timeout: Seconds = 10.0


async def for_group(context: ControlContext, call: ControlCall) -> GroupView:
    """Wait until the group meets all conditions. Raises BadWait, NotInTime, TooMany."""
    texts = msgspec.to_builtins(call.query)
    timeout = texts.pop("timeout")
    wanted = group_wait.from_texts(call.path.group, texts)
    with context.arrivals.place():
        outcome = await group_wait.reach(context.running, wanted, timeout)
    if isinstance(outcome, group_wait.Missed):
        raise NotInTime(outcome.line)
    return outcome


async def for_rule(context: ControlContext, call: ControlCall) -> RuleState:
    """Wait until the rule has fired often enough. Raises UnknownRule, BadWait, NotInTime, TooMany."""
    with context.arrivals.place():
        outcome = await fault_wait.reach(context.running, call.path.name, call.query.hits, call.query.timeout)
    if isinstance(outcome, str):
        raise NotInTime(outcome)
    return state_of(outcome)
