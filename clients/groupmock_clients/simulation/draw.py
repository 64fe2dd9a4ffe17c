"""Draw the plan of a simulated run from a seed. What is drawn here may change from version to version; a plan that was written down
means the same for ever."""

from __future__ import annotations

from random import Random
from typing import Final

from .consumer_plans import draw_consumers
from .plan import EVERY_KIND, KINDS, OWN_KINDS, SimulatedClient, SimulationPlan
from .share_plans import draw_shares
from .steps import MAKE, steps_of, versions_of
from .streams_plans import draw_streams
from .transaction_plans import draw_transactions

PROFILES: Final = ("groupmock", "kafka-4.3", "kafka-3.9")
PROTOCOLS: Final = (["range"], ["cooperative-sticky"], ["cooperative-sticky", "range"])
WEIGHTS: Final[dict[str, dict[str, int]]] = {
    "groups": {},
    "steering": {"command": 14},
    "faults": {"faults": 5, "command": 3},
    "wire": {"cut": 5, "glue": 3, "break": 4, "deaf": 4},
    "hostile": {"mutate": 9, "burst": 4, "large": 4},
    "mixed": {"command": 6, "faults": 2, "cut": 2, "glue": 2, "break": 2, "deaf": 2, "mutate": 3, "burst": 2, "large": 2},
}
ALWAYS: Final = {"wait": 12, "produce": 6, "kill": 2, "leave": 2, "start": 3, "subscribe": 1, "commit": 1}

OWN: Final = dict(zip(OWN_KINDS, (draw_consumers, draw_transactions, draw_shares, draw_streams), strict=True))


def draw(seed: int, kind: str | None = None) -> SimulationPlan:
    """Draw the plan of the simulated run that belongs to a seed. `kind` is one of EVERY_KIND; None: the seed draws one of KINDS."""
    dice = Random(f"simulation {seed}")
    drawn = dice.choice(KINDS)
    kind = drawn if kind is None else kind
    if kind in OWN:
        return OWN[kind](dice, seed)
    if kind not in WEIGHTS:
        raise ValueError(f"no kind of simulation is called {kind!r}: there are {', '.join(EVERY_KIND)}")
    nodes = dice.choice((1, 1, 2, 3, 4))
    profile = dice.choice(PROFILES)
    topics = {f"t{number}": dice.choice((1, 2, 3, 5)) for number in range(dice.choice((1, 1, 2)))}
    clients = _clients(dice, profile, list(topics))
    settings = {"group.initial.rebalance.delay.ms": str(dice.choice((0, 100, 500)))}
    if dice.random() < 0.3:  # These socket limits are so small that a client that does not read, or sends ahead, is noticed at once.
        settings |= {"groupmock.connection.write.buffer.bytes": "150", "groupmock.connection.read.ahead.bytes": "300"}
    if dice.random() < 0.1:
        settings["group.max.size"] = str(len(clients))
    plan = SimulationPlan(
        seed=seed, kind=kind, profile=profile, settings=settings, nodes=nodes, topics=topics, leases=dice.random() < 0.7,
        clients=clients, steps=[],
    )  # fmt: skip
    plan.steps = steps_of(dice, plan, {**ALWAYS, **WEIGHTS[kind]}, MAKE)
    return plan


def _clients(dice: Random, profile: str, topics: list[str]) -> list[SimulatedClient]:
    groups = [f"g{number}" for number in range(dice.choice((1, 1, 2)))]
    protocols = {group: dice.choice(PROTOCOLS) for group in groups}
    mixed = dice.random() < 0.3  # A rolling upgrade is in progress, so members list different assignors.
    timing = dice.choice(((6_000, 8_000, 1_500), (6_000, 4_000, 1_000), (10_000, 15_000, 3_000)))
    found = []
    for number in range(dice.choice((1, 2, 3, 4, 5))):
        group = groups[number % len(groups)]
        instance = f"i{number}" if dice.random() < 0.3 else None
        offered = protocols[group][-1:] if mixed and dice.random() < 0.5 else protocols[group]
        session, rebalance, heartbeat = timing
        client = SimulatedClient(
            name=f"c{number}", group=group, topics=topics, protocols=offered, instance=instance, session_ms=session,
            rebalance_ms=rebalance, heartbeat_ms=heartbeat, versions=versions_of(dice, profile, instance is not None),
        )  # fmt: skip
        found.append(client)
    return found
