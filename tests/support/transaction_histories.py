"""Random histories of stock clients that consume, transform and produce exactly once. A seed draws the members, the faults and the deaths.

`transaction_play` plays them. Two runs of one seed have the same members, faults and steps, at times that depend on the machine's load.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final

from groupmock.faults.facts import for_producers
from groupmock.faults.plan import read_plan, ready_plans

CLIENTS: Final = ("aiokafka", "confluent-kafka", "java")
ONE_ID: Final = "aiokafka-one-id"
"""A client program with a common mistake: one transactional id per member, which does not depend on the assigned partitions."""
PLANS: Final = [name for name in ready_plans() if for_producers(read_plan(name))]
PORTIONS: Final = 24
"""Number of batches of records that are written during a history. The first ones are there before it begins."""
IDS: Final = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
APIS: Final = (*IDS, *IDS, "Produce", "FindCoordinator", "Heartbeat", "JoinGroup", "SyncGroup", "OffsetFetch", "Fetch")
ERRORS: Final = {
    "InitProducerId": (14, 15, 16, 51),
    "AddPartitionsToTxn": (14, 15, 16, 51),
    "AddOffsetsToTxn": (14, 15, 16, 51),
    "TxnOffsetCommit": (14, 15, 16),
    "EndTxn": (14, 15, 16, 51),
    "Produce": (6, 7, 19),
    "FindCoordinator": (15,),
    "Heartbeat": (14, 15, 16, 25, 27),
    "JoinGroup": (14, 15, 16),
    "SyncGroup": (14, 15, 16, 27),
    "OffsetFetch": (14, 16, 88),
    "Fetch": (6,),
}
"""Errors with which a broker may refuse each API without executing the request."""
PEOPLE: Final = ("kill", "pause", "zombie", "twin", "leave")
"""Events of client processes, which are possible with any broker."""
OPERATOR: Final = (
    "abort", "fence", "hold_markers", "move", "move_transaction", "move_leaders", "rebalance", "start_nodes", "stop_node",
)  # fmt: skip
"""Steps of a groupmock operator."""
MEMBERS: Final = {"client_id": "till-*"}
"""The clients that faults affect, without the writer of the orders and the reader of the results."""


@dataclass(frozen=True)
class History:
    """The history that a seed draws. `steps` are (second, verb, which) in order of time; those of an operator exist for groupmock alone."""

    client: str
    seed: int
    nodes: int
    source: int
    sink: int
    members: int
    records: int
    session_ms: int
    timeout_ms: int
    markers_ms: int
    plan: str | None
    rules: list[dict[str, Any]]
    steps: list[tuple[float, str, int]]
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.client}-{self.seed or self.plan}"

    def __str__(self) -> str:
        return f"{self.client} seed {self.seed}" if self.seed else f"{self.client} under {self.plan}"


def drawn(client: str, seed: int) -> History:
    """Draw the history of this seed and client."""
    dice = random.Random(f"transactions {client} {seed}")
    seconds, members = dice.uniform(4, 6), dice.choice((2, 2, 3))
    verbs = (*PEOPLE, *PEOPLE, *OPERATOR)
    steps = [(dice.uniform(0.2, seconds), dice.choice(verbs), dice.randrange(members)) for _ in range(dice.randint(1, 5))]
    portions = [(at / PORTIONS * seconds, "produce", at) for at in range(1, PORTIONS)]
    return History(
        client=client, seed=seed, nodes=dice.randint(1, 3), source=dice.randint(1, 4), sink=dice.randint(1, 3), members=members,
        records=dice.choice((24, 48, 96)), session_ms=dice.choice((1_500, 3_000)), timeout_ms=dice.choice((3_000, 6_000)),
        markers_ms=dice.choice((0, 0, 20, 150)), plan=dice.choice(PLANS) if dice.random() < 0.4 else None,
        rules=[_rule(dice) for _ in range(dice.randint(0, 4))], steps=sorted([*steps, *portions]), seconds=seconds,
    )  # fmt: skip


def of_zombies(client: str, seed: int) -> History:
    """Return a history of two members without faults that are paused in turn, each for longer than its session timeout."""
    dice = random.Random(f"zombies {client} {seed}")
    pauses = [(at + dice.uniform(0, 0.5), "pause", number % 2) for number, at in enumerate((0.5, 3.0, 5.5, 8.0))]
    portions = [(at / PORTIONS * 10, "produce", at) for at in range(1, PORTIONS)]
    return History(
        client=client, seed=seed, nodes=1, source=4, sink=1, members=2, records=240, session_ms=1_500, timeout_ms=6_000, markers_ms=0,
        plan=None, rules=[], steps=sorted([*pauses, *portions]), seconds=10.0,
    )  # fmt: skip


def of_plan(client: str, plan: str) -> History:
    """Return a history of two members under one ready fault plan."""
    portions = [(at / PORTIONS * 4.0, "produce", at) for at in range(1, PORTIONS)]
    return History(
        client=client, seed=0, nodes=2, source=2, sink=2, members=2, records=48, session_ms=3_000, timeout_ms=6_000, markers_ms=0,
        plan=plan, rules=[], steps=portions, seconds=4.0,
    )  # fmt: skip


def _rule(dice: random.Random) -> dict[str, Any]:
    """Draw one fault rule with the fields that its kind needs."""
    api = dice.choice(APIS)
    when: dict[str, Any] = dice.choice(({"nth": dice.randint(1, 8)}, {"every": dice.randint(2, 6)}, {"probability": 0.3}))
    rest: dict[str, Any] = {} if "nth" in when else {"times": dice.randint(1, 4)}
    do: dict[str, Any]
    match dice.choice((*["error"] * 5, *["delay"] * 2, *["close"] * 3, "reset", "drop", "swallow", *["steer"] * 6)):
        case "error":
            return {
                "when": {"api": api, **MEMBERS, **when},
                "stage": "request",
                "do": {"kind": "error", "code": dice.choice(ERRORS[api])},
                **rest,
            }
        case "delay":
            do = {"kind": "delay", "seconds": round(dice.uniform(0.05, 1.5), 2)}
        case "close":
            return {"when": {"api": api, **MEMBERS, **when}, "stage": dice.choice(("request", "reply")), "do": {"kind": "close"}, **rest}
        case "steer":
            api, do = dice.choice(IDS), dice.choice((
                {"kind": "fence_transaction"}, {"kind": "abort_transaction"}, {"kind": "abort_transaction"},
                {"kind": "hold_markers", "seconds": round(dice.uniform(0.1, 2), 2)},
                {"kind": "move_transaction_coordinator", "loading_seconds": dice.choice((0, 0.5))},
                {"kind": "stall_node", "seconds": round(dice.uniform(0.2, 1.5), 2)},
            ))  # fmt: skip
        case kind:
            do = {"kind": kind}
    return {"when": {"api": api, **MEMBERS, **when}, "do": do, **rest}
