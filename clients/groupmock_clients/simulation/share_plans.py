"""Draw the plans of simulated runs about share groups (KIP-932): their workers, how they acknowledge, and what happens to them."""

from __future__ import annotations

from random import Random
from typing import Final

from groupmock_codec.acknowledge_types import ACCEPT, GAP, REJECT, RELEASE, RENEW
from groupmock_codec.api_keys import FIND_COORDINATOR, SHARE_ACKNOWLEDGE, SHARE_FETCH, SHARE_GROUP_HEARTBEAT

from .consumer_plans import plans_about
from .plan import SHARE, SimulatedClient, SimulationPlan, Step
from .share_worker import NEVER
from .steps import COMMANDS, MAKE, STRESSES, Draw, Make, command_of, steps_of, versions_of

PROFILES: Final = ("groupmock", "kafka-4.4", "kafka-4.3")
SPOKEN: Final = (FIND_COORDINATOR, SHARE_GROUP_HEARTBEAT, SHARE_FETCH, SHARE_ACKNOWLEDGE)
SESSION_MS, HEARTBEAT_MS = 6_000, 1_000
LOCKS_MS: Final = (2_000, 4_000, 15_000)
WORK_MS: Final = (0, 0, 200, 1_500, 5_000)
LIMITS: Final = (2, 3, 5, 10)
HABITS: Final[tuple[list[int], ...]] = (
    [ACCEPT],
    [ACCEPT, ACCEPT, RELEASE],
    [RELEASE, ACCEPT, REJECT],
    [ACCEPT, RENEW, RELEASE, GAP],
    [RENEW],
    [NEVER, ACCEPT, ACCEPT],
    [NEVER],
    [RELEASE],
)
"""The types with which a worker acknowledges one record after the other, from which each worker draws one list."""
ALWAYS: Final = {"wait": 12, "produce": 10, "kill": 3, "leave": 2, "start": 5, "subscribe": 1}
STEERING: Final[dict[str, Make]] = {
    **{name: make for name, make in COMMANDS.items() if name in (
        "expire_member", "move_coordinator", "unload_coordinator", "move_leader", "stop_node", "start_node", "stall_node", "step_clock",
        "reseed", "grow_topic",
    )},
    "expire_locks": lambda dice, group, *_: {"group": group, "first": dice.choice((0, 0, 3)), "last": dice.choice((None, None, 8))},
    "release_records": lambda dice, group, member, *_: {"group": group, "member": f"{member}-{dice.choice((1, 1, 2))}"},
    "archive_records": lambda dice, group, member, node, topic, partition: {
        "group": group, "topic": topic, "partition": partition, "first": (first := dice.randrange(12)), "last": first + dice.randrange(4),
    },
    "hold_deliveries": lambda dice, group, *_: {"group": group},
    "resume_deliveries": lambda dice, group, *_: {"group": group},
}  # fmt: skip
"""Maps each steering command that applies to share groups to the function that draws its arguments."""
STEPS: Final[dict[str, Draw]] = {
    **MAKE,
    "command": lambda dice, plan: command_of(dice, plan, STEERING),
    "faults": lambda dice, plan: [dice.choice(plans_about(*SPOKEN))],
}


def draw_shares(dice: Random, seed: int) -> SimulationPlan:
    profile = dice.choice(PROFILES)
    topics = {f"t{number}": dice.choice((1, 1, 2, 3)) for number in range(dice.choice((1, 1, 2)))}
    groups = [f"g{number}" for number in range(dice.choice((1, 1, 1, 2)))]
    lock_ms, limit = dice.choice(LOCKS_MS), dice.choice(LIMITS)
    settings = {
        "group.share.session.timeout.ms": str(SESSION_MS),
        "group.share.heartbeat.interval.ms": str(HEARTBEAT_MS),
        "group.share.assignment.interval.ms": str(dice.choice((0, 500, 1_000))),
        "group.share.record.lock.duration.ms": str(lock_ms),
        "group.share.delivery.count.limit": str(limit),
    }
    if dice.random() < 0.2:
        settings["group.share.partition.max.record.locks"] = "100"
    plan = SimulationPlan(
        seed=seed, kind="shares", profile=profile, settings=settings, nodes=dice.choice((1, 1, 2, 3)), topics=topics,
        leases=dice.random() < 0.7, clients=[_worker(dice, profile, list(topics), groups, number) for number in range(dice.randint(1, 5))],
        steps=[],
    )  # fmt: skip
    earliest = {"share.auto.offset.reset": "earliest"}
    begin: list[Step] = [["command", "configure_group", {"group": group, "set": earliest}] for group in groups]
    plan.steps = begin + steps_of(dice, plan, {**ALWAYS, **dice.choice(STRESSES)}, STEPS)
    return plan


def _worker(dice: Random, profile: str, topics: list[str], groups: list[str], number: int) -> SimulatedClient:
    return SimulatedClient(
        name=f"c{number}", group=groups[number % len(groups)], topics=topics if dice.random() < 0.8 else topics[:1], protocol=SHARE,
        protocols=[], session_ms=SESSION_MS, heartbeat_ms=dice.choice((150, 400, HEARTBEAT_MS)),
        versions=versions_of(dice, profile, False, SPOKEN), work_ms=dice.choice(WORK_MS), acknowledges=dice.choice(HABITS),
        by_fetch=dice.random() < 0.5, by_record=dice.random() < 0.3, max_records=dice.choice((1, 3, 500)),
    )  # fmt: skip
