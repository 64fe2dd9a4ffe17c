"""The words of the policy: what members claim, what a leader decides, and what it keeps for its next round.

Times are ms on any clock that only goes forward. Partitions are (topic, number).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from .balance import Move, Partition

DELAY_MS: Final = 300_000  # scheduled.rebalance.max.delay.ms of Kafka Connect
NOBODY: Final = ""
Partitions = frozenset[Partition]
# As in groupmock.rounds.rebalance_model: cooperative imports the codec only (docs/reference/architecture.md#rule-3).
_UUID: Final = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@dataclass(frozen=True, slots=True)
class Rules:
    """One group's settings; every member must have the same. `delay_ms` counts in Designs II and III, the moves in III.

    `first`: may the first member of a group take everything at once, or does it wait `delay_ms` for others? `match`: may a newcomer with
    an unknown name take what a named member lost ("any"), or only what nobody knows the owner of ("name")?
    """

    design: Literal[1, 2, 3] = 2
    delay_ms: int = DELAY_MS
    max_moves: int = 1
    move_interval_ms: int = 1000
    first: Literal["assign", "wait"] = "assign"
    match: Literal["any", "name"] = "any"

    def __post_init__(self) -> None:
        if self.design not in (1, 2, 3):
            raise ValueError(f"design {self.design!r} is not 1, 2 or 3")
        if self.delay_ms < 0 or self.move_interval_ms < 0 or self.max_moves < 1:
            raise ValueError(f"delay_ms and move_interval_ms are at least 0, max_moves at least 1: {self}")
        if self.first not in ("assign", "wait") or self.match not in ("any", "name"):
            raise ValueError(f"first is assign or wait, match is any or name: {self}")

    @property
    def patience_ms(self) -> int:
        """How long a lost partition is kept for who lost it: never in Design I."""
        return 0 if self.design == 1 else self.delay_ms


@dataclass(frozen=True, slots=True)
class Claim:
    """What a member joined with."""

    topics: frozenset[str]
    owned: Partitions = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """What a member is told. `assigned`: all that it holds then. `gained`: what of it is new. `timeout_ms` 0: none."""

    assigned: Partitions
    gained: Partitions
    revoked: Partitions
    timeout_ms: int

    @property
    def listed(self) -> Partitions:
        """AssignedTopicPartitions as the document's examples print it: nothing if nothing is new."""
        return self.assigned if self.gained else frozenset()


@dataclass(frozen=True, slots=True)
class Loss:
    """A partition whose holder is gone is kept until `deadline` for `owner`; "" where the leader does not know who that was."""

    deadline: int
    owner: str


@dataclass(frozen=True, slots=True)
class LeaderMemory:
    """What a leader keeps from its last round."""

    subscriptions: Mapping[str, frozenset[str]]
    universe: Partitions
    holdings: Mapping[Partition, str]  # who holds it, as far as was told; of what is lost: who held it
    lost: Mapping[Partition, Loss] = field(default_factory=dict)
    departed: Mapping[str, int] = field(default_factory=dict)  # member -> until when its name counts
    target: Mapping[Partition, str] | None = None  # the plan that is being carried out, while it is
    moves: Mapping[Partition, Move] = field(default_factory=dict)  # of that plan: what has not changed hands yet
    waits_until: int | None = None  # first="wait": nothing is given before


@dataclass(frozen=True, slots=True)
class Received:
    """What a member knows from its last Assignment, should it lead next: its id then, when it was to join again, what there was."""

    member: str
    deadline: int | None
    topics: frozenset[str]
    universe: Partitions


@dataclass(frozen=True, slots=True)
class LeaderPlan:
    """`again`: the leader has to join again at once, since nobody else would although something is left to do."""

    decisions: Mapping[str, Decision]
    memory: LeaderMemory
    again: bool


def name_of(member: str) -> str:
    """What a member id says of its process: client id, or instance id, before the UUID that Kafka appends."""
    return _UUID.sub("", member)
