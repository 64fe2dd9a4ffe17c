"""Draw the plans of simulated runs about streams groups (KIP-1071): their applications and threads, and the steps that happen to them."""

from __future__ import annotations

from random import Random
from typing import Final

from groupmock.core.groups.streams.states import State
from groupmock.rig.making import make_config
from groupmock_codec.api_keys import FETCH, FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FETCH, STREAMS_GROUP_HEARTBEAT

from .consumer_plans import LEAST, TIMINGS, plans_about
from .plan import STREAMS, SimulatedClient, SimulationPlan, Step
from .steps import COMMANDS, MAKE, STRESSES, Draw, Make, command_of, steps_of, versions_of

PROFILES: Final = ("groupmock", "kafka-4.4", "kafka-4.3")
SPOKEN: Final = (FETCH, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, STREAMS_GROUP_HEARTBEAT)
LATE: Final = "n0"
"""The source topic that some applications read and that does not exist at first."""
STANDBYS: Final = "streams.num.standby.replicas"
STATES: Final = (State.EMPTY, State.NOT_READY, State.ASSIGNING, State.RECONCILING, State.STABLE)
ALWAYS: Final = {"wait": 12, "produce": 6, "kill": 2, "leave": 3, "start": 5, "commit": 1, "create": 1}
STEERING: Final[dict[str, Make]] = {
    **{name: make for name, make in COMMANDS.items() if name in (
        "expire_member", "freeze_member", "thaw_member", "release_group", "move_coordinator", "unload_coordinator", "move_leader",
        "stop_node", "start_node", "stall_node", "step_clock", "reseed",
    )},
    "hold_group": lambda dice, group, *_: {"group": group, "state": str(dice.choice(STATES))},
    "fence_member": lambda dice, group, member, *_: {"group": group, "member": member},
    "configure_group": lambda dice, group, *_: {"group": group, "set": {STANDBYS: str(dice.randrange(3))}},
}  # fmt: skip
"""Maps each steering command that applies to streams groups to the function that draws its arguments."""
STEPS: Final[dict[str, Draw]] = {
    **MAKE,
    "command": lambda dice, plan: command_of(dice, plan, STEERING),
    "create": lambda dice, plan: [LATE, dice.choice((1, 2, 5))],
    "faults": lambda dice, plan: [dice.choice(plans_about(*SPOKEN))],
}


def draw_streams(dice: Random, seed: int) -> SimulationPlan:
    profile, (session, rebalance, heartbeat) = dice.choice(PROFILES), dice.choice(TIMINGS)
    has_static_members = not make_config(profile).settings.quirks.streams_fields_not_served
    topics = {f"t{number}": dice.choice((1, 2, 3, 5)) for number in range(dice.choice((1, 1, 2)))}
    settings = {
        "group.streams.session.timeout.ms": str(session),
        "group.streams.heartbeat.interval.ms": str(heartbeat),
        "group.streams.initial.rebalance.delay.ms": str(dice.choice((0, 0, 500, 3_000))),
        "group.streams.assignment.interval.ms": str(dice.choice((0, 500, 1_000))),
        "group.streams.num.standby.replicas": str(dice.choice((0, 1, 1, 2))),
    }
    plan = SimulationPlan(
        seed=seed, kind="streams", profile=profile, settings=settings, nodes=dice.choice((1, 1, 2, 3)), topics=topics,
        leases=dice.random() < 0.7, clients=[], steps=[],
    )  # fmt: skip
    for number in range(dice.choice((1, 1, 1, 2))):
        read = [*topics, LATE] if dice.random() < 0.2 else list(topics)
        repartitions, stateful = dice.random() < 0.5, dice.random() < 0.8
        for _ in range(dice.choice((1, 2, 3, 4))):
            name, group = f"c{len(plan.clients)}", f"g{number}"
            client = SimulatedClient(
                name=name, group=group, topics=read, protocol=STREAMS, protocols=[], session_ms=session, rebalance_ms=rebalance,
                heartbeat_ms=heartbeat, versions=versions_of(dice, profile, False, SPOKEN, LEAST), full=dice.random() < 0.3,
                instance=f"i-{name}" if has_static_members and dice.random() < 0.3 else None,
                revoke_ms=dice.choice((0, 0, 0, 400, 3_000, rebalance + 2_000)),
                process=f"{group}-p{dice.randrange(3)}" if dice.random() < 0.3 else f"{group}-{name}", repartitions=repartitions,
                stateful=stateful,
            )  # fmt: skip
            plan.clients.append(client)
    if dice.random() < 0.1:
        settings["group.streams.max.size"] = str(len(plan.clients))
    standbys: list[Step] = [["command", "configure_group", {"group": "g0", "set": {STANDBYS: "1"}}]] if dice.random() < 0.3 else []
    plan.steps = standbys + steps_of(dice, plan, {**ALWAYS, **dice.choice(STRESSES)}, STEPS)
    return plan
