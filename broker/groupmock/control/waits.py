"""Waiting for what a group is and for what a fault rule did; rows of the journal are waited for in `queries`."""

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
    """What is waited for of a group: all of it. Nothing said: that it exists."""

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
    timeout: Seconds = 10.0


class FaultWait(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """How often, how long."""

    hits: Annotated[int, Meta(description="until it fired so often", ge=1)] = 1
    timeout: Seconds = 10.0


async def for_group(context: ControlContext, call: ControlCall) -> GroupView:
    """Until the group is as wanted. Raises BadWait, NotInTime, TooMany."""
    texts = msgspec.to_builtins(call.query)
    timeout = texts.pop("timeout")
    wanted = group_wait.from_texts(call.path.group, texts)
    with context.arrivals.place():
        found = await group_wait.reach(context.running, wanted, timeout)
    if isinstance(found, group_wait.Missed):
        raise NotInTime(found.line)
    return found


async def for_rule(context: ControlContext, call: ControlCall) -> RuleState:
    """Until the rule fired so often. Raises UnknownRule, BadWait, NotInTime, TooMany."""
    with context.arrivals.place():
        found = await fault_wait.reach(context.running, call.path.name, call.query.hits, call.query.timeout)
    if isinstance(found, str):
        raise NotInTime(found)
    return state_of(found)
