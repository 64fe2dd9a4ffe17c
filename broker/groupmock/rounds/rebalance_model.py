"""The parts of a rebalance as an observer of the wire sees them.

All times are those of journal rows: ns since the header's `epoch_ns`. Members are represented by their ids, and states have Kafka's names.
A rebalance of a classic group lasts from the first PreparingRebalance to the next Stable, Empty or Dead. A rebalance of a consumer group
(KIP-848) lasts from a new group epoch, which is its generation here, until every member is at that epoch. In between the group is in
Assigning and Reconciling, or in neither if one heartbeat did it all. A rebalance of a streams group (KIP-1071) also lasts while topics keep
the group in NotReady.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from groupmock_codec.group_states import (
    ASSIGNING,
    COMPLETING_REBALANCE,
    EMPTY,
    NOT_READY,
    PREPARING_REBALANCE,
    RECONCILING,
    STABLE,
)
from groupmock_codec.units import NS_PER_MS

from ..journal.rows import MovedRow
from .embedded import Claim, Instruction, Partition, Partitions

OF_CLASSIC: Final = (PREPARING_REBALANCE, COMPLETING_REBALANCE)
OF_COORDINATOR: Final = (NOT_READY, ASSIGNING, RECONCILING)
UNDER_WAY: Final = (*OF_CLASSIC, *OF_COORDINATOR)
AT_REST: Final = (EMPTY, STABLE)
JOINED: Final = "member_joined"
"""The cause of a rebalance that began because a member joined."""
_JOINS: Final = re.compile(r"(?:static )?member .*? joined\b")
_UUID: Final = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def name_of(member_id: str) -> str:
    """Return the name of the process behind a member: the member id without the UUID that the coordinator appends to a client id or an
    instance id (KIP-394)."""
    return _UUID.sub("", member_id)


def short_name(member_id: str, called: str | None = None) -> str:
    """Return a short name for texts, such as `anna#d7e8`: the member's name and the first four characters that the coordinator appended
    to it. `called` is the instance id or client id if known; otherwise the name is taken from the id. The result may be unprintable."""
    called = called if called is not None else name_of(member_id) if name_of(member_id) != member_id else ""
    rest = member_id.removeprefix(called).lstrip("-") if called else member_id
    return f"{called}#{rest[:4]}" if called else member_id[:12]


@dataclass(slots=True)
class Generation:
    """A generation has the members that joined it, the partitions that each said it owned, the leader's assignments, and who got them.

    `began` is the time of the leader's answer to JoinGroup, which shows every member's claims. `planned` is the time when the leader's plan
    was accepted, or None if it never was. `told` maps members to their partitions in the plan; the coordinator answers members without an
    entry with nothing. `heard` maps the members that received their assignment to the time. `universe` has every partition that the
    subscribed topics had then.
    """

    number: int
    began: int
    leader: str
    protocol_type: str
    protocol: str
    claims: dict[str, Claim]
    universe: Partitions
    planned: int | None = None
    told: dict[str, Instruction] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)

    @property
    def began_ms(self) -> float:
        return self.began / NS_PER_MS

    @property
    def planned_ms(self) -> float | None:
        return None if self.planned is None else self.planned / NS_PER_MS

    def holders(self) -> dict[Partition, str]:
        """Return for each assigned partition the member to which the leader assigned it."""
        return {partition: member for member, told in self.told.items() for partition in told.assigned}

    @property
    def settled(self) -> bool:
        """Return whether the assignments are final: every partition has an owner, no member must give up partitions or wait, and all
        members received theirs."""
        told = self.told.values()
        return (
            self.planned is not None
            and self.heard.keys() >= self.claims.keys()
            and not any(each.revoked or each.timeout_ms for each in told)
            and self.universe <= self.holders().keys()
        )


@dataclass(slots=True)
class Phase:
    """A phase is a stay of a group in a state of its rebalance. In PreparingRebalance members join, and in CompletingRebalance the group
    waits for the leader's plan. In Assigning a consumer group waits for a heartbeat, which has the target computed, and in Reconciling for
    the members that are not at the target. A further epoch begins another phase.

    `reason` is the coordinator's sentence, and `cause` its code ("" in journals that have none). `spent` is the duration in ns: 0 while the
    phase lasts, and never negative even if a clock goes back.
    """

    state: str
    began: int
    reason: str
    cause: str
    spent: int = 0


class Holder(NamedTuple):
    """The owner of a partition by the last assignments: a member, and the name of its process (`processes`)."""

    member: str
    process: str


class Move(NamedTuple):
    """A partition that was assigned to another member than before, which may be the same process under a new member id. `stood_by`: it is a
    task for which the new member stood by."""

    partition: Partition
    before: Holder
    after: Holder
    stood_by: bool = False


@dataclass(slots=True)
class Gap:
    """A period without an owner of a partition, from the loss by its last owner until a member received it; `until` is None while it
    lasts.

    `process` is the last owner, or "" if the partition never had one. `lapsed` is the time when the last owner gave the partition up, left,
    or was removed. If the owner's connection ended first, `lapsed` is later than `since` (None: not yet). Until then its session still
    runs, and no other member can get the partition.
    """

    partition: Partition
    since: int
    until: int | None = None
    process: str = ""
    lapsed: int | None = None

    def lasted(self, begin: int, end: int) -> int:
        """Return how many ns of the period are between `begin` and `end`."""
        until = end if self.until is None else min(self.until, end)
        return max(0, until - max(self.since, begin))


@dataclass(slots=True)
class Arrival:
    """The steps of one member of a consumer group to the target assignment. `told` is the time (ns) when it was first told to give up a
    partition (None: never), and `gave_up` when it confirmed that. `revoked` has all partitions that it was told to give up, and `given`
    those that it received. `arrived` is the last time when it reached an epoch of the rebalance."""

    told: int | None = None
    gave_up: int | None = None
    revoked: Partitions = frozenset()
    given: Partitions = frozenset()
    arrived: int | None = None


class Share(NamedTuple):
    """A member's partitions by the assignments of the previous generation and of this one."""

    had: Partitions
    has: Partitions

    @property
    def got(self) -> Partitions:
        """Return the partitions that the member gained in the rebalance."""
        return self.has - self.had

    @property
    def lost(self) -> Partitions:
        """Return the partitions that the member lost in the rebalance."""
        return self.had - self.has


@dataclass(slots=True)
class Rebalance:
    """A rebalance, from a group's first PreparingRebalance or new epoch until the group is at rest again.

    `number` counts this group's rebalances in the journal, from 1. `ended_in` is Stable, Empty or Dead, or None, as `ended` is, during the
    rebalance. `members_before` (None: the journal began in the middle) and `members_after` are numbers. `joined` maps members to the time
    of their last JoinGroup, in that order, so that the latest member is last; it includes the member that began the rebalance.
    `last_joined` is the last one when the join phase ended. `leader` and `protocol` are those of the last generation, or None before there
    is one. `had` maps members to their partitions by the previous plan; if `had_known` is False, the rows do not have that plan and `had`
    means nothing. `first_join`: a member joined the empty group, so nobody was disturbed, and figures leave the rebalance out.
    `reassigned` has the partitions that another member got than had them last, and `gaps` those that had no owner
    meanwhile. If `moves_known` is False, the rows do not say who had some partition last. In consumer groups
    `arrivals` maps members to their way to the target, no member leads, and `last_joined` arrived last; `dealt` and `asked_back` count how
    often a partition was given to a member or asked back.

    Answers to SyncGroup come after the end, so `heard` of the last generation and `until` of gaps may still change then.
    """

    group: str
    number: int
    began: int
    reason: str
    cause: str
    generation_before: int
    members_before: int | None
    had: Mapping[str, Partitions]
    joined: dict[str, int]
    gaps: list[Gap]
    generation_after: int = 0
    members_after: int = 0
    ended: int | None = None
    ended_in: str | None = None
    leader: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    last_joined: str | None = None
    phases: list[Phase] = field(default_factory=list)
    generations: list[Generation] = field(default_factory=list)
    reassigned: list[Move] = field(default_factory=list)
    arrivals: dict[str, Arrival] = field(default_factory=dict)
    dealt: int = 0
    asked_back: int = 0
    had_known: bool = True
    moves_known: bool = True
    first_join: bool = False

    @staticmethod
    def is_first(row: MovedRow) -> bool:
        """Return whether a member joined an empty group, by the cause of the row or, in a journal without causes, by its sentence."""
        joined = row.cause == JOINED or (row.cause is None and _JOINS.match(row.reason) is not None)
        return joined and row.before in ("", EMPTY) and row.after != COMPLETING_REBALANCE

    @property
    def moves(self) -> list[Move]:
        """Return the partitions that moved: those that another process got than had them last."""
        return [each for each in self.reassigned if each.before.process != each.after.process]

    @property
    def moved(self) -> int | None:
        """Return how many partitions moved, or None if the rows do not say so."""
        return len(self.moves) if self.moves_known else None

    def unowned(self, end: int) -> int:
        """Return the partition-ns without an owner, up to `end`, of the partitions that lost their owner in the rebalance."""
        return sum(gap.lasted(0, end) for gap in self.gaps)

    @property
    def classic(self) -> bool:
        """Return whether the rebalance had a phase in which members joined or a leader assigned."""
        return any(phase.state in OF_CLASSIC for phase in self.phases)

    @property
    def plan(self) -> Generation | None:
        """Return the generation with which the rebalance ended, or None unless it ended Stable and the leader's assignment was seen."""
        last = self.generations[-1] if self.generations else None
        return last if self.ended_in == STABLE and last is not None and last.told else None

    def spent(self, *states: str) -> int:
        """Return the time in ns that the group spent in these states during the rebalance."""
        return sum(each.spent for each in self.phases if each.state in states)

    def times(self, state: str) -> int:
        """Return how often the group was in a state during the rebalance. More than one PreparingRebalance means that a leader's plan
        did not come."""
        return sum(each.state == state for each in self.phases)

    def shares(self) -> dict[str, Share]:
        """Return each member's partitions before and after the rebalance, former members included. Empty without a plan."""
        plan = self.plan
        if plan is None:
            return {}
        nothing: Partitions = frozenset()
        has = {member: told.assigned for member, told in plan.told.items()}
        concerned = {**{member: had for member, had in self.had.items() if had}, **has}
        return {member: Share(self.had.get(member, nothing), has.get(member, nothing)) for member in concerned}
