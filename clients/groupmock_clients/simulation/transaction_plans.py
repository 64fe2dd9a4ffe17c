"""Draw plans about transactions: their producers and outcomes, and what happens to coordinators and markers meanwhile."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from groupmock_codec.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)

from .consumer_plans import consumers_of, plans_about
from .plan import CLASSIC, OFFSETS, SimulatedClient, SimulatedWriter, SimulationPlan
from .steps import COMMANDS, MAKE, Draw, Make, command_of, profile_versions, steps_of, versions_of

PROFILES: Final = ("groupmock", "kafka-4.3", "kafka-3.9")
NEW: Final = {PRODUCE: 12, END_TXN: 5, TXN_OFFSET_COMMIT: 5, INIT_PRODUCER_ID: 5, FIND_COORDINATOR: 4}
"""Maps the APIs of a new transactional client (KIP-890) to the versions that it uses."""
OLD: Final = {
    PRODUCE: (3, 11), END_TXN: (0, 4), TXN_OFFSET_COMMIT: (3, 4), INIT_PRODUCER_ID: (3, 5), ADD_PARTITIONS_TO_TXN: (0, 3),
    ADD_OFFSETS_TO_TXN: (0, 4), FIND_COORDINATOR: (1, 4),
}  # fmt: skip
"""The versions that an old transactional client may use: API key -> lowest and highest.

TxnOffsetCommit names members, and InitProducerId its own id, from 3 on."""
ALWAYS: Final = {"wait": 10, "transact": 16, "produce": 3, "kill": 3, "start": 5, "leave": 1}
WEIGHTS: Final[tuple[dict[str, int], ...]] = (
    {},
    {"command": 10},
    {"faults": 4, "command": 3},
    {"cut": 3, "glue": 2, "break": 4, "deaf": 2},
    {"command": 6, "faults": 2, "cut": 2, "glue": 2, "break": 2, "deaf": 1},
)
IDS: Final = ("x0", "x1")
TIMINGS: Final = (6_000, 8_000, 1_500)


def _of_id(dice: Random, **more: Any) -> dict[str, Any]:
    return {"transactional_id": dice.choice(IDS), **more}


STEERING: Final[dict[str, Make]] = {
    **{name: make for name, make in COMMANDS.items() if name in (
        "expire_member", "move_coordinator", "unload_coordinator", "move_leader", "stop_node", "start_node", "stall_node", "step_clock",
    )},
    "abort_transaction": lambda dice, *_: _of_id(dice),
    "fence_transaction": lambda dice, *_: _of_id(dice),
    "expire_transactional_id": lambda dice, *_: _of_id(dice),
    "hold_markers": lambda dice, *_: _of_id(dice, ms=dice.choice([None, 300, 3_000])),
    "release_markers": lambda dice, *_: _of_id(dice),
    "move_transaction_coordinator": lambda dice, *_: _of_id(dice, loading_ms=dice.choice([0, 300, 2_000])),
}  # fmt: skip
"""Maps each steering command that applies to transactions to the function that draws its arguments."""


def _transaction(dice: Random, plan: SimulationPlan) -> list[Any]:
    places = [[topic, index] for topic, count in plan.topics.items() if topic.startswith("x") for index in range(count)]
    chosen = [[*place, dice.choice((1, 2, 5))] for place in dice.sample(places, min(len(places), dice.choice((1, 1, 2, 3))))]
    member = dice.choice(plan.clients).name if dice.random() < 0.5 else ""
    pause = dice.choice((0, 0, 0, 100, 1_000, 5_000))
    return [dice.choice(plan.writers).name, chosen, dice.random() < 0.4, dice.random() < 0.7, pause, member]


def _who(dice: Random, plan: SimulationPlan) -> str:
    names = [each.name for each in plan.writers]
    return dice.choice([*names, *names, *(each.name for each in plan.clients)])


STEPS: Final[dict[str, Draw]] = {
    **MAKE,
    "transact": _transaction,
    "command": lambda dice, plan: command_of(dice, plan, STEERING),
    "faults": lambda dice, plan: [dice.choice(plans_about(*OLD))],
    "kill": lambda dice, plan: [_who(dice, plan), dice.randrange(2)],
    "start": lambda dice, plan: [_who(dice, plan)],
    "cut": lambda dice, plan: [_who(dice, plan), [dice.choice((1, 2, 3, 4, 7, 20)) for _ in range(dice.randint(1, 6))]],
    "glue": lambda dice, plan: [_who(dice, plan), dice.randint(2, 4), dice.choice(([], [30], [70, 5]))],
    "break": lambda dice, plan: [_who(dice, plan), dice.choice((0, 1, 3, 20, 100, 300))],
    "deaf": lambda dice, plan: [_who(dice, plan), dice.choice((100, 2_000))],
}


def draw_transactions(dice: Random, seed: int) -> SimulationPlan:
    profile = dice.choice(PROFILES)
    topics = {"t0": 2, "x0": dice.choice((1, 2, 3)), OFFSETS: len(IDS)}
    if dice.random() < 0.4:
        topics["x1"] = 1
    plan = SimulationPlan(
        seed=seed, kind="transactions", profile=profile, settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"},
        nodes=dice.choice((1, 1, 2, 3)), topics=topics, leases=True, clients=_clients(dice, profile), steps=[],
        writers=[_writer(dice, profile, number) for number in range(dice.choice((1, 2, 2, 3, 4)))],
    )  # fmt: skip
    if dice.random() < 0.2:
        plan.settings["groupmock.transaction.markers.delay.ms"] = str(dice.choice((20, 700)))
    if any(client.protocol != CLASSIC for client in plan.clients):
        plan.settings |= {"group.consumer.session.timeout.ms": "6000", "group.consumer.heartbeat.interval.ms": "1500"}
    plan.steps = [["start", writer.name] for writer in plan.writers]
    plan.steps += steps_of(dice, plan, {**ALWAYS, **dice.choice(WEIGHTS)}, STEPS)
    return plan


def _clients(dice: Random, profile: str) -> list[SimulatedClient]:
    """Draw the group members for which producers commit offsets, which read a topic without transactions."""
    consumers = profile != "kafka-3.9" and dice.random() < 0.5
    if consumers:
        return consumers_of(dice, profile, ["t0"], TIMINGS, ["g0"], dice.choice((1, 1, 2)))
    session, rebalance, heartbeat = TIMINGS
    return [
        SimulatedClient(
            name=f"c{number}", group="g0", topics=["t0"], protocols=["range"], session_ms=session, rebalance_ms=rebalance,
            heartbeat_ms=heartbeat, versions=versions_of(dice, profile, False),
        )
        for number in range(dice.choice((1, 1, 2)))
    ]  # fmt: skip


def _writer(dice: Random, profile: str, number: int) -> SimulatedWriter:
    served = profile_versions(profile)
    if served[END_TXN][1] >= NEW[END_TXN] and dice.random() < 0.5:
        versions = dict(NEW)
    else:
        versions = {key: dice.randint(max(low, served[key][0]), min(high, served[key][1])) for key, (low, high) in OLD.items()}
    name = IDS[number % len(IDS)]
    return SimulatedWriter(
        name=f"w{number}", transactional_id=name, group="g0", register=number % len(IDS), timeout_ms=dice.choice((2_000, 4_000, 60_000)),
        recovers=dice.random() < 0.6, versions=versions,
    )  # fmt: skip
