"""Each ready fault plan (`groupmock faults plans`) makes a situation with the plan's name, except those that need secured listeners."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from ....faults.facts import for_consumer_groups, for_other_groups, for_producers
from ....faults.kind import for_secured
from ....faults.plan import Plan, read_plan, ready_plans, rule_as_data
from ..situation import CONSUMER, PROTOCOL_OF, Situation, declare
from ..situation_stage import Stage

ELSEWHERE: Final = ("network-stall",)
"""Ready plans that do the same as the situation `node-silent`, but for a different length of time."""
STATIC: Final = ("fenced-twin",)
STAY_AWAY: Final = ("fenced-twin",)
"""Situations in which a fenced copy must not join again."""
ONE_NODE: Final = ("loading-coordinator",)
"""Plans for a cluster of one node, so that the coordinator loads on the same node."""


def _script(plan: Plan) -> Callable[[Stage], Awaitable[None]]:
    async def script(stage: Stage) -> None:
        for rule in plan.rule:
            await stage.strikes(rule.name, rule.times or 1)
        await stage.mute_noticed()

    return script


def _protocol(plan: Plan) -> str:
    """Return the protocol (classic or consumer) to which the APIs in a plan's rules belong. Consumer groups win; otherwise it is the
    protocol of the first API that has only one."""
    if for_consumer_groups(plan):
        return CONSUMER
    return next((PROTOCOL_OF[api] for each in plan.rule if (api := str(rule_as_data(each)["when"].get("api", ""))) in PROTOCOL_OF), "")


def _sentence(plan: Plan) -> str:
    """Return the first sentence of the plan's description."""
    return f"{' '.join(plan.about.split()).partition('. ')[0].rstrip('.')}."


for _name in ready_plans():
    _plan = read_plan(_name)
    if _name not in ELSEWHERE and not any(of(_plan) for of in (for_producers, for_secured, for_other_groups)):
        declare(
            Situation(
                _name,
                _sentence(_plan),
                "every fault of the plan, and the group Stable",
                _script(_plan),
                rules=tuple(rule_as_data(each) for each in _plan.rule),
                nodes=1 if _name in ONE_NODE else 3,
                static=_name in STATIC,
                comes_back=_name not in STAY_AWAY,
                protocol=_protocol(_plan),
            )
        )
