"""The data types of the policy: what members claim, what a leader decides, and what a leader remembers for its next round.

Times are ms on a monotonic clock. Partitions are (topic, number).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from .balance import Move, Partition

DELAY_MS: Final = 300_000  # The default of Kafka Connect's scheduled.rebalance.max.delay.ms.
NOBODY: Final = ""
Partitions = frozenset[Partition]
# This copies groupmock.rounds.rebalance_model, because cooperative imports the codec only (docs/reference/architecture.md#rule-3).
_UUID: Final = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of one group, which all members must share. `delay_ms` applies to Designs II and III, the moves to III.

    `first`: may the first member of a group take everything at once, or does it wait `delay_ms` for others? `match`: may a newcomer with an
    unknown name take what a named member lost ("any"), or only what has no known owner ("name")?
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
        """Return how long a lost partition is reserved for its owner: 0 in Design I."""
        return 0 if self.design == 1 else self.delay_ms


@dataclass(frozen=True, slots=True)
class Claim:
    """The topics and owned partitions with which a member joined."""

    topics: frozenset[str]
    owned: Partitions = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """The leader's decision about the partitions of one member. `assigned` are all its partitions, `gained` the new ones among them.
    `timeout_ms` 0 means none."""

    assigned: Partitions
    gained: Partitions
    revoked: Partitions
    timeout_ms: int

    @property
    def listed(self) -> Partitions:
        """Return AssignedTopicPartitions as the examples of the document on the designs print it: empty if nothing is new."""
        return self.assigned if self.gained else frozenset()


@dataclass(frozen=True, slots=True)
class Loss:
    """A partition whose owner is gone, reserved until `deadline` for `owner` ("" if the leader does not know the owner)."""

    deadline: int
    owner: str


@dataclass(frozen=True, slots=True)
class LeaderMemory:
    """The state that a leader keeps from one round to the next."""

    subscriptions: Mapping[str, frozenset[str]]
    universe: Partitions
    holdings: Mapping[Partition, str]  # The last known owner of each partition, even of a lost one.
    lost: Mapping[Partition, Loss] = field(default_factory=dict)
    # Maps a departed member to the time until which its partitions stay reserved for a process of its name.
    departed: Mapping[str, int] = field(default_factory=dict)
    target: Mapping[Partition, str] | None = None  # The assignment towards which the group moves partitions round by round, if any.
    # The moves of partitions towards `target` that have not happened yet.
    moves: Mapping[Partition, Move] = field(default_factory=dict)
    waits_until: int | None = None  # Time before which nothing is assigned if `first` is "wait".


@dataclass(frozen=True, slots=True)
class Received:
    """The state that a member keeps of its last Assignment for the case that it leads the next round: its id, its deadline to rejoin,
    and the known partitions."""

    member: str
    deadline: int | None
    topics: frozenset[str]
    universe: Partitions


@dataclass(frozen=True, slots=True)
class LeaderPlan:
    """The assignments that a leader has planned for one round. `again` says that the leader must rejoin at once, because work is left
    and no other member would rejoin."""

    decisions: Mapping[str, Decision]
    memory: LeaderMemory
    again: bool


def name_of(member: str) -> str:
    """Return the process name in a member id: client id or instance id, without the UUID that Kafka appends."""
    return _UUID.sub("", member)
