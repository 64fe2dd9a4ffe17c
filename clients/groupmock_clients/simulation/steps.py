"""Values that all kinds of simulation draw from: the versions of a process, and steps and steering commands with their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from random import Random
from typing import Any, Final

from groupmock.config.profiles import load
from groupmock.faults.plan import ready_plans
from groupmock.rig.versions import newest
from groupmock_codec import APIS
from groupmock_codec.api_keys import FETCH, FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH, SYNC_GROUP
from groupmock_codec.declare import Message, fields_of
from groupmock_codec.group_states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from groupmock_codec.messages.k01_fetch import FetchRequest, FetchTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics

from .plan import SimulationPlan, Step
from .strangers import BURSTS, LARGE

SPOKEN: Final = (FETCH, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP)
"""The APIs whose versions are drawn for each client."""
NAMING_TOPICS: Final[Mapping[int, Message]] = {
    FETCH: FetchRequest(topics=[FetchTopic(topic="t")]),
    OFFSET_COMMIT: OffsetCommitRequest(topics=[OffsetCommitRequestTopic(name="t")]),
    OFFSET_FETCH: OffsetFetchRequest(groups=[OffsetFetchRequestGroup(topics=[OffsetFetchRequestTopics(name="t")])]),
}
"""Example requests that name a topic. A simulated client speaks no version that has topic ids instead."""
OLDEST_RELEASE: Final = "kafka-4.3"
"""The release that has removed old versions (KIP-896), which simulated clients therefore do not use."""
OLDEST_JOIN: Final = 2
"""Kafka 4.0 removed older versions of JoinGroup, which later releases serve again for librdkafka (KAFKA-19444)."""
WAITS: Final = (10, 60, 250, 700, 1_500, 3_000, 6_500)
MUCH: Final = (1, 20, 150, 1_000)
MORE: Final = {"partitions": (4, 10_000, 1_000_000, 2**31 - 1), "zipped": (1, 1_000, 5_000), "records": (1, 1_000)}
"""The numbers of elements in a large request, with larger numbers where an element takes few bytes."""
STATES: Final = (EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE)
STEPS: Final = (12, 30)
STRESSES: Final[tuple[dict[str, int], ...]] = (
    {},
    {"command": 14},
    {"faults": 4, "command": 4},
    {"cut": 3, "glue": 2, "break": 4, "deaf": 3},
    {"command": 6, "faults": 2, "cut": 2, "glue": 2, "break": 2, "deaf": 2},
)
"""The weights of steps that trouble clients, of which a run draws one set."""

Make = Callable[[Random, str, str, int, str, int], dict[str, Any]]
Draw = Callable[[Random, SimulationPlan], list[Any]]


@cache
def profile_versions(name: str) -> Mapping[int, tuple[int, int]]:
    """Return the versions of each API that brokers of this profile serve."""
    return load(name).versions


@cache
def _first_static(key: int) -> int:
    """Return the first version in which a request has a group.instance.id, and 0 if none has one."""
    request = APIS[key].request.message
    elements = [field.wire.element_wire for field in fields_of(request) if field.wire.kind == "array"]
    structs = [request, *(element.struct for element in elements if element.kind == "struct")]
    return next((field.since for struct in structs for field in fields_of(struct) if field.name == "group_instance_id"), 0)


def versions_of(
    dice: Random, profile: str, static: bool, spoken: Iterable[int] = SPOKEN, least: Mapping[int, int] | None = None
) -> dict[int, int]:
    """Draw a version for each of these APIs, none below its `least`, and for a static member only versions that have an instance id."""
    served = profile_versions(profile)
    found = {}
    for key in spoken:
        low = max(profile_versions(OLDEST_RELEASE)[key][0], served[key][0], _first_static(key) if static else 0)
        low = max(low, (least or {}).get(key, 0))
        if key == JOIN_GROUP:
            low = max(low, OLDEST_JOIN)
        high = newest(key, NAMING_TOPICS[key], profile) if key in NAMING_TOPICS else served[key][1]
        found[key] = high if dice.random() < 0.5 else dice.randint(low, high)
    return found


def steps_of(dice: Random, plan: SimulationPlan, weights: Mapping[str, int], make: Mapping[str, Draw]) -> list[Step]:
    steps: list[Step] = []
    for client in plan.clients:
        steps.append(["start", client.name])
        if dice.random() < 0.6:
            steps.append(["wait", dice.choice(WAITS[:4])])
    names, chances = list(weights), list(weights.values())
    for name in dice.choices(names, chances, k=dice.randint(*STEPS)):
        steps.append([name, *make[name](dice, plan)])
        if name not in ("wait", "produce") and dice.random() < 0.5:
            steps.append(["wait", dice.choice(WAITS)])
    return steps


def who(dice: Random, plan: SimulationPlan) -> str:
    return dice.choice(plan.clients).name


def where(dice: Random, plan: SimulationPlan) -> tuple[str, int]:
    topic = dice.choice(list(plan.topics))
    return topic, dice.randrange(plan.topics[topic])


def _much(dice: Random) -> list[Any]:
    what = dice.choice(list(LARGE))
    return [what, dice.choice(MORE.get(what, MUCH))]


def command_of(dice: Random, plan: SimulationPlan, commands: Mapping[str, Make]) -> list[Any]:
    client = dice.choice(plan.clients)
    group, member = client.group, client.name
    node = dice.randint(1, plan.nodes)
    topic, partition = where(dice, plan)
    name, make = dice.choice(list(commands.items()))
    found = make(dice, group, member, node, topic, partition)
    if name == "fence_instance":
        found["instance"] = client.instance or "i0"
    return [name, found]


COMMANDS: Final[dict[str, Make]] = {
    "expire_member": lambda dice, group, member, *_: {"group": group, "member": member},
    "fence_instance": lambda dice, group, *_: {"group": group},
    "freeze_member": lambda dice, group, member, *_: {"group": group, "member": member, "ms": dice.choice([None, 500, 5_000])},
    "thaw_member": lambda dice, group, member, *_: {"group": group, "member": member},
    "force_rebalance": lambda dice, group, *_: {"group": group},
    "hold_group": lambda dice, group, *_: {"group": group, "state": dice.choice(STATES)},
    "release_group": lambda dice, group, *_: {"group": group},
    "complete_delay": lambda dice, group, *_: {"group": group},
    "order_joins": lambda dice, group, member, *_: {"group": group, "names": [member]},
    "choose_leader": lambda dice, group, member, *_: {"group": group, "member": member},
    "move_coordinator": lambda dice, group, *_: {"group": group, "loading_ms": dice.choice([0, 300, 2_000])},
    "unload_coordinator": lambda dice, group, *_: {"group": group},
    "move_leader": lambda dice, group, member, node, topic, partition: {"topic": topic, "partition": partition, "node": node},
    "stop_node": lambda dice, group, member, node, *_: {"node": node, "clean": dice.random() < 0.5, "loading_ms": dice.choice([0, 200])},
    "start_node": lambda dice, group, member, node, *_: {"node": node},
    "stall_node": lambda dice, group, member, node, *_: {"node": node, "ms": dice.choice([300, 3_000, 8_000])},
    "jump_timer": lambda dice, group, *_: {"timer": dice.choice(["join", "sync"]), "subject": [group]},
    "step_clock": lambda dice, *_: {"ms": dice.choice([1, 400, 4_000, 12_000])},
    "reseed": lambda dice, *_: {"seed": dice.randrange(1 << 30)},
    "grow_topic": lambda dice, group, member, node, topic, partition: {"topic": topic, "partitions": dice.choice([4, 6])},
}
"""Maps a steering command to the function that draws its arguments. `step_clock` is a clock that jumps."""

MAKE: Final[dict[str, Draw]] = {
    "wait": lambda dice, plan: [dice.choice(WAITS)],
    "produce": lambda dice, plan: [*where(dice, plan), dice.choice((1, 3, 10))],
    "kill": lambda dice, plan: [who(dice, plan), dice.randrange(2)],
    "leave": lambda dice, plan: [who(dice, plan)],
    "start": lambda dice, plan: [who(dice, plan)],
    "subscribe": lambda dice, plan: [who(dice, plan), sorted(dice.sample(list(plan.topics), dice.randint(1, len(plan.topics))))],
    "commit": lambda dice, plan: [who(dice, plan)],
    "cut": lambda dice, plan: [who(dice, plan), [dice.choice((1, 2, 3, 4, 7, 20)) for _ in range(dice.randint(1, 6))]],
    "glue": lambda dice, plan: [who(dice, plan), dice.randint(2, 4), dice.choice(([], [30], [70, 5], [3, 80, 40]))],
    "break": lambda dice, plan: [who(dice, plan), dice.choice((0, 1, 3, 5, 20, 100, 300))],
    "deaf": lambda dice, plan: [who(dice, plan), dice.choice((100, 2_000, 9_000))],
    "command": lambda dice, plan: command_of(dice, plan, COMMANDS),
    "faults": lambda dice, plan: [dice.choice(sorted(ready_plans()))],
    "mutate": lambda dice, plan: [
        dice.randrange(1_000),
        [[dice.choice((4, 5, 6, 7, dice.randrange(12, 400), dice.randrange(400))), dice.choice((0, 1, 127, 128, 255, dice.randrange(256)))]
         for _ in range(dice.randint(0, 3))],
    ],
    "burst": lambda dice, plan: [dice.choice(list(BURSTS)), dice.choice((3, 20, 60)), dice.randint(1, 3)],
    "large": lambda dice, plan: _much(dice),
}  # fmt: skip
"""Maps a step to the function that draws its values."""
