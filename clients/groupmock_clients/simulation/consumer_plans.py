"""Draw the plans of simulated runs about consumer groups (KIP-848): their members, and the steps that happen to them."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any, Final

from groupmock.faults.plan import read_plan, ready_plans
from groupmock_codec import APIS
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, FETCH, FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FETCH
from groupmock_codec.group_states import ASSIGNING, EMPTY, RECONCILING, STABLE

from .plan import CONSUMER, SimulatedClient, SimulationPlan
from .steps import COMMANDS, MAKE, STRESSES, Draw, Make, command_of, steps_of, versions_of, who

PROFILES: Final = ("groupmock", "kafka-4.3")
SPOKEN: Final = (FETCH, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, CONSUMER_GROUP_HEARTBEAT)
LEAST: Final = {OFFSET_COMMIT: 9, OFFSET_FETCH: 9}
"""Maps APIs to the first versions that carry a member epoch (KIP-848)."""
REGEX_SINCE: Final = 1
ASSIGNORS: Final[tuple[list[str], ...]] = ([], ["uniform"], ["range"])
EXPRESSIONS: Final = ("", "t.*", "n.*", "[tn]1", "t0|n.", "nothing")
NEW_TOPICS: Final = ("n0", "n1", "n2")
STATES: Final = (EMPTY, ASSIGNING, RECONCILING, STABLE)
TIMINGS: Final = ((6_000, 8_000, 1_500), (6_000, 4_000, 1_000), (10_000, 15_000, 3_000))
"""The combinations of session timeout, rebalance timeout and heartbeat interval from which a run draws one, in ms."""
ALWAYS: Final = {
    "wait": 12, "produce": 6, "kill": 2, "leave": 3, "start": 4, "subscribe": 2, "match": 1, "commit": 1, "create": 1, "delete": 1,
}  # fmt: skip
STEERING: Final[dict[str, Make]] = {
    **{name: make for name, make in COMMANDS.items() if name in (
        "expire_member", "freeze_member", "thaw_member", "release_group", "move_coordinator", "unload_coordinator", "move_leader",
        "stop_node", "start_node", "stall_node", "step_clock", "reseed", "grow_topic",
    )},
    "fence_member": lambda dice, group, member, *_: {"group": group, "member": member},
    "hold_group": lambda dice, group, *_: {"group": group, "state": dice.choice(STATES)},
}  # fmt: skip
"""Maps each steering command that applies to consumer groups to the function that draws its arguments."""


@cache
def plans_about(*spoken: int) -> tuple[str, ...]:
    """Return the ready fault plans that have a rule about one of these APIs."""
    names = {APIS[key].name for key in spoken}
    return tuple(name for name in sorted(ready_plans()) if any(rule.when.api in names for rule in read_plan(name).rule))


def _topics(dice: Random, plan: SimulationPlan) -> list[str]:
    names = [*plan.topics, *NEW_TOPICS]
    return sorted(dice.sample(names, dice.randint(0, len(names))))


STEPS: Final[dict[str, Draw]] = {
    **MAKE,
    "command": lambda dice, plan: command_of(dice, plan, STEERING),
    "subscribe": lambda dice, plan: [who(dice, plan), _topics(dice, plan)],
    "match": lambda dice, plan: [_matching(dice, plan), dice.choice(EXPRESSIONS)],
    "create": lambda dice, plan: [dice.choice(NEW_TOPICS), dice.choice((1, 2, 5))],
    "faults": lambda dice, plan: [dice.choice(plans_about(*SPOKEN))],
    "delete": lambda dice, plan: [dice.choice([*plan.topics, *NEW_TOPICS])],
}


def _matching(dice: Random, plan: SimulationPlan) -> str:
    """Draw a client whose heartbeats can carry a regular expression, or any client if none can, which then ignores the step."""
    able = [each.name for each in plan.clients if each.versions[CONSUMER_GROUP_HEARTBEAT] >= REGEX_SINCE]
    return dice.choice(able) if able else who(dice, plan)


def draw_consumers(dice: Random, seed: int) -> SimulationPlan:
    profile, timing = dice.choice(PROFILES), dice.choice(TIMINGS)
    topics = {f"t{number}": dice.choice((1, 2, 3, 5)) for number in range(dice.choice((1, 1, 2)))}
    groups = [f"g{number}" for number in range(dice.choice((1, 1, 1, 2)))]
    clients = consumers_of(dice, profile, list(topics), timing, groups, dice.choice((1, 2, 3, 4, 5)))
    session, _, heartbeat = timing
    settings = {
        "group.consumer.session.timeout.ms": str(session),
        "group.consumer.heartbeat.interval.ms": str(heartbeat),
        "group.consumer.assignment.interval.ms": str(dice.choice((0, 500, 1_000))),
        "group.consumer.regex.refresh.interval.ms": "10000",
    }
    if dice.random() < 0.1:
        settings["group.consumer.max.size"] = str(len(clients))
    plan = SimulationPlan(
        seed=seed, kind="consumers", profile=profile, settings=settings, nodes=dice.choice((1, 1, 2, 3)), topics=topics,
        leases=dice.random() < 0.7, clients=clients, steps=[],
    )  # fmt: skip
    plan.steps = steps_of(dice, plan, {**ALWAYS, **dice.choice(STRESSES)}, STEPS)
    return plan


def consumers_of(
    dice: Random, profile: str, topics: list[str], timing: tuple[int, int, int], groups: list[str], count: int
) -> list[SimulatedClient]:
    """Draw `count` clients that are spread over these groups."""
    session, rebalance, heartbeat = timing
    found = []
    for number in range(count):
        versions = versions_of(dice, profile, False, SPOKEN, LEAST)
        about: dict[str, Any] = {"instance": f"i{number}" if dice.random() < 0.3 else None, "full": dice.random() < 0.3}
        if dice.random() < 0.3 and versions[CONSUMER_GROUP_HEARTBEAT] >= REGEX_SINCE:
            about["regex"] = dice.choice(EXPRESSIONS)
        client = SimulatedClient(
            name=f"c{number}", group=groups[number % len(groups)], topics=topics if dice.random() < 0.8 else topics[:1], protocol=CONSUMER,
            protocols=dice.choice(ASSIGNORS), session_ms=session, rebalance_ms=rebalance, heartbeat_ms=heartbeat, versions=versions,
            revoke_ms=dice.choice((0, 0, 0, 400, 3_000, rebalance + 2_000)), **about,
        )  # fmt: skip
        found.append(client)
    return found
