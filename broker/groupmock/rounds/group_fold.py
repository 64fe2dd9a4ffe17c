"""Follow one group row by row: its current rebalance, its generations, and the owners of its partitions.

A group is at rest (Empty, Stable, Dead) or in a rebalance: the first `moved` row to another state begins it, and the next one to a state of
rest ends it. In a classic group members join, and the join phase ends with a leader, whose SyncGroup is the plan. A partition moves if that
plan differs from the previous one. A consumer group (KIP-848) has no plan on the wire: its epoch rises, answers to heartbeats tell each
member what to give up (`revoking`), and the member confirms that and reaches the epoch (`reconciled`). A partition moves when an answer
gives it to another member. In a share group (KIP-932), where several members may have a partition, it moves when one member got it and
another lost it. In a streams group (KIP-1071) active tasks count as partitions. If one heartbeat does all of that, the group never leaves
its state of rest, and only the new epoch shows a rebalance, which took no time. A partition whose owner lost it before the next owner
received it has a gap. The gap counts to the rebalance in which the partition was lost, or else to the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from groupmock_codec.group_states import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE

from ..journal.rows import MemberRow, MovedRow
from ..journal.whose import bytes_of
from .embedded import Claim, Partition, Partitions, claim_of, told_of
from .owners import NOTHING, Listeners, Ownership
from .processes import Processes
from .rebalance_model import AT_REST, OF_CLASSIC, OF_COORDINATOR, UNDER_WAY, Arrival, Gap, Generation, Holder, Move, Phase, Rebalance
from .shared_holders import SharedHolders
from .tasks import Standbys

Json = Mapping[str, Any]
"""A row or message as a dict of its JSON."""
BEHIND_THEIR_BACKS: Final = "generation_set"
"""The cause of a `moved` row that begins no rebalance, because a command set the generation without telling the members."""
LEFT, LOADED = "coordinator_left", "coordinator_loaded"
"""Causes of moves to Dead and back when the group's partition of __consumer_offsets gets another leader. The log keeps the group."""
UPGRADED, DOWNGRADED = "group_upgraded", "group_downgraded"
"""Causes of moves to Dead and back when a group with members changes its type (KIP-848)."""
LIVES_ON: Final = (LEFT, LOADED, UPGRADED, DOWNGRADED)
"""Causes of a move to Dead after which the group has the same members and generation."""
RESERVATION_ENDS: Final = ("reservation_left", "reservation_expired")
"""Causes of a `removed` row for an id that was only reserved and belonged to no member (KIP-394)."""
GONE: Final = ("removed", "replaced", "fenced", "away")
"""The kinds of `member` rows after which a member owns nothing."""
REMEMBERED: Final = 1_000
"""The most partitions without an owner whose last owner is kept."""
NO_CLAIM: Final = Claim(frozenset(), frozenset())
SILENCE: Final = Listeners()


def replaced_by(member: str, reason: str) -> str:
    """Return the member id that `member` replaced, according to the reason of a `replaced` row (KIP-345). Usually the new id replaces
    the old id. If the new member could not be stored, the old id replaces the new id again."""
    _, mark, before = reason.rpartition(f"{member} replaces ")
    return before if mark else reason.removeprefix("undone: ").removesuffix(" could not be stored")


class GroupFold:
    """The state of one group after the last row that was read.

    `state` began at `since` (ns). `members` has the ids seen so far, and `size` the number of members (None if no row has said it).
    `leader` is a member id, `epoch` the generation and `moved_because` the cause of the last move, and `protocol` the last one chosen.
    `rebalance` is the current one, `last` the one that ended last, and `generation` the newest. `lost` has gaps since the last rebalance,
    which count to the next one. `arrived` maps members of a consumer group that reached a target since then, and owe nothing, to the time;
    `given` has their partitions by the last answer, and `standbys` their standby tasks in a streams group. `ownership` says which member
    owns what, and `processes` which process a member is. `whole` says whether the rows show the group from its begin (None: no row has said
    it). A log may follow many thousand groups, so a group at rest has few objects.
    """

    __slots__ = (
        "_assigned", "_holders", "_joined", "_listeners", "_number", "_ownership", "_size_before", "_stored", "_traced", "arrived", "epoch",
        "generation", "given", "last", "leader", "lost", "members", "moved_because", "name", "processes", "protocol", "protocol_type",
        "rebalance", "shared", "since", "size", "standbys", "state", "whole",
    )  # fmt: skip

    def __init__(self, name: str, listeners: Listeners = SILENCE) -> None:
        self.name = name
        self.state = ""
        self.since = 0
        self.size: int | None = None
        self._size_before: int | None = None  # The number of members when the group last changed its state.
        self.epoch: int | None = None
        self.members: set[str] = set()
        self.leader: str | None = None
        self.moved_because = ""
        self.rebalance: Rebalance | None = None
        self.last: Rebalance | None = None
        self.generation: Generation | None = None
        self.lost: list[Gap] = []
        self.arrived: dict[str, int] = {}
        self.given: dict[str, Partitions] = {}
        self.standbys: Standbys | None = None  # `standbys` is None until a member has a standby task.
        self.processes = Processes()
        self.whole: bool | None = None
        self._listeners = listeners
        self._ownership: Ownership | None = None  # `_ownership` is None until a member owns a partition.
        self._number = 0
        self.protocol = ""
        self.protocol_type: str | None = None
        self._joined: dict[str, int] = {}  # Members that joined in the current rebalance, or at this moment, which may begin a rebalance.
        # The partitions of each member in the last assignment, or None if the rows do not show them.
        self._assigned: dict[str, Partitions] | None = None
        self._stored: tuple[str, ...] = ()  # The members in the classic group's last record in the log.
        self._holders: dict[Partition, Holder] = {}
        self.shared: SharedHolders | None = None  # The holders of partitions in a share group.
        self._traced = False  # A partition without an entry in `_holders` had no owner before.

    @property
    def ownership(self) -> Ownership:
        """The owners of the group's partitions, which are followed from the first use on."""
        if self._ownership is None:
            self._ownership = Ownership(self.processes.of, self._listeners, jointly=self.protocol_type == "share")
        return self._ownership

    def moved(self, row: MovedRow) -> Rebalance | None:
        """Note that the group changed its state. Returns the rebalance that ended with this row."""
        at, before, after, cause = row.t, row.before, row.after, row.cause or ""
        self.spend(at)
        if self.whole is None:
            self.whole = before in ("", EMPTY) and cause not in LIVES_ON
        # The group is new or gone, so a later generation 1 is not the generation 1 of before.
        if cause not in LIVES_ON and (not before or after == DEAD):
            self.generation = None
            self.members.clear()
        newest = self.generation
        # A generation whose assignments were not accepted is not in the log, so its number is given again after the load.
        if cause == LOADED and newest is not None and (newest.planned is None or newest.number != row.generation):
            self.generation = None
        self._remembered(row, cause)
        if after in UNDER_WAY:
            self._under_way(row)
        elif self.rebalance is None and self._at_once(row):
            self.rebalance = self._begun(row)
        size = row.members
        self.state, self.since, self.size, self.epoch = after, at, size, row.generation
        self._size_before = size
        self.leader, self.moved_because = row.leader, cause
        self.protocol, self.protocol_type = row.protocol_name or self.protocol, row.protocol_type or self.protocol_type
        newest = self.generation
        if after == STABLE and before != STABLE and newest is not None and row.generation == newest.number:
            newest.planned = at  # The coordinator has accepted the leader's assignment.
            if self._listeners.spans is not None:
                self.ownership.wants(sorted(newest.universe), at)
        if self.rebalance is None:
            return None
        self.rebalance.generation_after, self.rebalance.members_after = row.generation, size
        if not self.rebalance.classic:
            self.rebalance.protocol_type, self.rebalance.protocol = row.protocol_type, row.protocol_name
        return None if after in UNDER_WAY else self._over(self.rebalance, at, after)

    def _remembered(self, row: MovedRow, cause: str) -> None:
        """Note what a change of the group's state says about assignments and about the members that the log has."""
        before, after = row.before, row.after
        if cause == LOADED and len(self._stored) == row.members:
            self.members = set(self._stored)
        if cause == UPGRADED:  # The coordinator assigns from now on, and no row shows its complete assignment.
            self._assigned = None
        elif before in ("", EMPTY) and cause not in LIVES_ON:
            self._assigned = {}
            self._traced = True
        # A consumer group is written to the log with each change, a classic group when it becomes stable or empty
        # (core.groups.classic.storage).
        if after in AT_REST or (cause == LEFT and before in OF_COORDINATOR):
            self._stored = tuple(self.members)

    def spend(self, at: int) -> None:
        """Extend the duration of the current phase to time `at`."""
        if self.rebalance is not None and self.rebalance.phases:
            self.rebalance.phases[-1].spent = max(0, at - self.since)

    def _at_once(self, row: MovedRow) -> bool:
        """Return whether a consumer group got a new epoch and was at rest at once, because a single heartbeat did everything."""
        rests = row.before in AT_REST and row.after in AT_REST and row.cause != BEHIND_THEIR_BACKS
        return rests and self.epoch is not None and row.generation > self.epoch

    def _under_way(self, row: MovedRow) -> None:
        now = self.rebalance
        if now is None:
            now = self.rebalance = self._begun(row)
        now.phases.append(Phase(row.after, row.t, row.reason, row.cause or ""))
        if row.after == COMPLETING_REBALANCE:
            now.last_joined = next(reversed(self._joined), None)
            now.leader, now.protocol_type, now.protocol = row.leader, row.protocol_type, row.protocol_name

    def _begun(self, row: MovedRow) -> Rebalance:
        self._number += 1
        # The JoinGroup that began the rebalance precedes this row and has the same time; older JoinGroups do not belong to the rebalance.
        self._joined = {member: at for member, at in self._joined.items() if at == row.t}
        lost, self.lost = self.lost, []
        return Rebalance(
            self.name, self._number, row.t, row.reason, row.cause or "", self._generation_before(row),
            members_before=0 if self._size_before is None and row.before in ("", EMPTY) else self._size_before,
            had=(self._assigned or {}) if row.after in OF_CLASSIC else dict(self.given), joined=self._joined, gaps=lost,
            had_known=self._assigned is not None or row.after not in OF_CLASSIC,
            first_join=Rebalance.is_first(row),
        )  # fmt: skip

    def _generation_before(self, row: MovedRow) -> int:
        """Return the group's generation before a change of its state. It counts up when the join phase ends, so a group that is first
        seen completing has the new one already, and so has a consumer group that is first seen under way. Usually the row says what it
        was."""
        generation = row.generation
        if row.after == PREPARING_REBALANCE:
            return generation
        return generation - 1 if self.epoch is None or row.after == COMPLETING_REBALANCE else self.epoch

    def _over(self, now: Rebalance, at: int, state: str) -> Rebalance:
        now.ended, now.ended_in = at, state
        if state == EMPTY:
            now.protocol = None
        if now.plan is not None:
            now.moves_known = self._traced
            now.reassigned = list(self._reassigned(now.plan))
            self._assigned = {member: told.assigned for member, told in now.plan.told.items()}
            self._traced = True
        elif state == STABLE:
            self._assigned = None
            if now.classic:
                now.moves_known = self._traced = False
        # The rebalance ended without members or the group was deleted, so the previous assignments are void. If only the coordinator
        # changed, it reads them from its log.
        elif self.moved_because not in LIVES_ON:
            self._assigned = {}
        if not now.classic:
            now.last_joined = next(reversed(self.arrived), None)
            for member, arrived in self.arrived.items():
                now.arrivals.setdefault(member, Arrival()).arrived = arrived
        self.rebalance, self.last, self._joined, self.arrived = None, now, {}, {}
        self._forget_partitions()
        return now

    def _forget_partitions(self) -> None:
        """Forget old partitions if there are too many, because no row of the group says which partitions were deleted."""
        if self._ownership is None:
            return
        self._ownership.forget(REMEMBERED)
        if len(self._holders) > REMEMBERED + 2 * len(self._ownership):
            self._holders = {partition: holder for partition, holder in self._holders.items() if partition in self._ownership}

    def _reassigned(self, plan: Generation) -> Iterator[Move]:
        for member, told in plan.told.items():
            if member not in self.processes:
                self.processes.comes(member, None)
            yield from self._given(member, told.assigned)

    def _given(self, member: str, partitions: Partitions, stood_by: Partitions = NOTHING) -> Iterator[Move]:
        """Yield a `Move` for each of the member's new partitions that another member had before. `stood_by` has its standby tasks."""
        holder = Holder(member, self.processes.of(member))
        for partition in sorted(partitions):
            before = self._holders.get(partition, holder)
            if before.member != member:
                yield Move(partition, before, holder, partition in stood_by)
            self._holders[partition] = holder

    def member(self, row: MemberRow) -> None:
        """Note that a member joined, left or changed."""
        member, what = row.member_id, row.what
        if what in ("added", "replaced"):
            self._comes(row, replaced_by(member, row.reason) if what == "replaced" else None)
        elif what == "led":
            self.leader = member
        elif what in ("removed", "refused"):
            self._goes(member, what, row.cause or "")
        if what == "replaced":
            member = replaced_by(member, row.reason)
        self._on_the_way(member, what, row.t)
        if what in GONE:
            had = self.given.pop(member, NOTHING)
            self._stands_by(member, NOTHING, row.t)
            if self.shared is not None and had:
                self._exchanged(member, had, NOTHING)
            self.processes.hangs_up(member)
            self._loses(member, NOTHING, row.t, self.rebalance)

    def _comes(self, row: MemberRow, before: str | None) -> None:
        """Add a new member, or a member whose new id replaces `before` and inherits the old id's assignment and leadership."""
        member = row.member_id
        self._arrived(member, row.t)
        if before is None:
            self.size = None if self.size is None else self.size + 1
        else:
            self.members.discard(before)
            self.processes.goes(before)
            self._stored = tuple(member if each == before else each for each in self._stored)
            self.leader = member if self.leader == before else self.leader
            if self._assigned and before in self._assigned:
                self._assigned[member] = self._assigned.pop(before)
        if member not in self.members:
            self.processes.goes(member)  # The name that its requests gave it may lack the instance id.
        self.processes.comes(member, row.group_instance_id or row.client_id)
        self.members.add(member)

    def _goes(self, member: str, what: str, cause: str) -> None:
        """Remove a member that left, or an id that was only reserved."""
        unseen = member not in self.members
        self.members.discard(member)
        self.processes.goes(member)
        if unseen and (what == "refused" or cause in RESERVATION_ENDS):
            return
        self.size = None if self.size is None else max(0, self.size - 1)
        self.leader = None if self.leader == member else self.leader

    def _on_the_way(self, member: str, what: str, at: int) -> None:
        """Note that a member of a consumer group has reached the target epoch or was told to revoke partitions."""
        if what not in ("reconciled", "revoking"):
            return
        self.arrived.pop(member, None)  # The member is removed first, so that it becomes the last in the dict, as in `_arrived`.
        if what == "reconciled":
            self.arrived[member] = at
        if self.rebalance is not None:
            arrival = self.rebalance.arrivals.setdefault(member, Arrival())
            if what == "revoking" and arrival.told is None:
                arrival.told = at
            elif what == "reconciled" and arrival.told is not None and arrival.gave_up is None:
                arrival.gave_up = at

    def joins(self, message: Json, member: str, at: int) -> None:
        """Note the JoinGroup of a member that has an id. The member keeps the partitions that it claims, by the group's last protocol."""
        self._arrived(member, at)
        if member in self.processes:
            self.processes.comes(member, None)
        owned, pale = self.ownership.of(member), self.ownership.is_pale(member)
        listed = {each["name"]: each["metadata"] for each in message.get("protocols", ())} if owned or pale else {}
        if listed:
            name = self.protocol if self.protocol in listed else next(iter(listed))
            claim = claim_of(str(message["protocol_type"]), name, bytes_of(listed[name]))
            if pale:
                self.ownership.lapses(member, at, claim.owned)
            else:
                self._loses(member, owned & claim.owned, at, self.rebalance)

    def _arrived(self, member: str, at: int) -> None:
        if self.rebalance is None and self._joined and next(reversed(self._joined.values())) != at:
            self._joined = {}
        # The member is removed first, because a dict keeps the position of a key, and a member that joins again must be last.
        self._joined.pop(member, None)
        self._joined[member] = at

    def turned_away(self, member: str) -> None:
        """Note that the JoinGroup of a member was refused."""
        self._joined.pop(member, None)

    def begun(self, message: Json, asked: Json, at: int, counts: Mapping[str, int]) -> None:
        """Note the leader's answer to JoinGroup, which begins a generation. A repeated answer, because the leader joined again
        unchanged, shows nothing new."""
        kind = str(asked["protocol_type"])
        # An answer that is repeated has the same members and generation (SERVER-20), so nothing changes.
        if self.generation is not None and self.generation.number == message["generation_id"]:
            return
        protocol = str(message["protocol_name"])
        claims = {each["member_id"]: claim_of(kind, protocol, bytes_of(each["metadata"])) for each in message["members"]}
        topics = {topic for claim in claims.values() for topic in claim.topics}
        universe = frozenset((topic, number) for topic in topics for number in range(counts.get(topic, 0)))
        self.generation = Generation(message["generation_id"], at, str(message["leader"]), kind, protocol, claims, universe)
        if self.rebalance is not None:
            self.rebalance.generations.append(self.generation)

    def syncs(self, message: Json) -> None:
        """Note the SyncGroup of a member, which may have assignments. That of the leader has the assignments of all members, as long as
        the generation has no accepted plan."""
        now = self.generation
        # In Stable a SyncGroup is answered with the stored assignment, whatever assignments it has (SERVER-38).
        if now is None or now.planned is not None or (message["member_id"], message["generation_id"]) != (now.leader, now.number):
            return
        if "assignments" not in message:  # The row has no assignments if it was shortened in memory, so they are unknown.
            return
        brought = {each["member_id"]: bytes_of(each["assignment"]) for each in message["assignments"]}
        for member, claim in now.claims.items():
            # The coordinator answers a member that the leader left out with an empty assignment
            # (docs/kafka/group-protocol.md#s-leader-missing).
            now.told[member] = told_of(now.protocol_type, now.protocol, brought.get(member, b""), claim)

    def grows(self, topic: str, partitions: Iterable[Partition], at: int) -> None:
        """Note that a topic has new partitions, which nobody owns yet. They matter to a group that subscribes to the topic, as far as the
        rows tell: a consumer group has owned partitions of the topic before."""
        if self._listeners.spans is None or self.state in ("", EMPTY, DEAD):
            return
        claims = self.generation.claims.values() if self.generation is not None else ()
        if any(topic in claim.topics for claim in claims) or any(topic == name for name, _ in self.ownership.first):
            self.ownership.wants(partitions, at)

    def hears(self, asked: Json, message: Json, at: int) -> None:
        """Note that a member received an answer to SyncGroup: from now on it owns exactly the partitions assigned there."""
        now, member = self.generation, asked["member_id"]
        if now is None or now.number != asked["generation_id"] or "assignment" not in message:
            return
        now.heard[member] = at
        if member not in self.processes:
            self.processes.comes(member, None)
        told = told_of(now.protocol_type, now.protocol, bytes_of(message["assignment"]), now.claims.get(member, NO_CLAIM))
        self._loses(member, told.assigned, at, self.last)

    def speaks(self, member: str, client_id: str | None) -> None:
        """Note a heartbeat of a member of a consumer group. Its client id is of use if the rows begin after the member came."""
        if member not in self.processes and not self.whole:
            self.processes.comes(member, client_id)

    def begins_anew(self, member: str, at: int) -> None:
        """Note a heartbeat at epoch 0, with which the member gives up all its partitions."""
        self._arrived(member, at)
        if member in self.processes:
            self.processes.comes(member, None)
        self.given.pop(member, None)
        self._stands_by(member, NOTHING, at)
        self._loses(member, NOTHING, at, self.rebalance)

    def may_have(self, member: str, partitions: Partitions, at: int, standbys: Partitions = NOTHING) -> None:
        """Note that a member received an answer to its heartbeat: from now on it owns exactly the partitions assigned there, and has
        exactly these standby tasks. An answer that ends a rebalance comes after its end."""
        had, now, stood_by = self.given.get(member, NOTHING), self.rebalance or self.last, self._stands_by(member, standbys, at)
        self.given[member] = partitions
        if now is not None:
            arrival = now.arrivals.setdefault(member, Arrival())
            arrival.given |= partitions - had
            arrival.revoked |= had - partitions
            now.dealt += len(partitions - had)
            now.asked_back += len(had - partitions)
            if self.protocol_type == "share":
                self._exchanged(member, had, partitions)
            else:
                now.moves_known = now.moves_known and (self._traced or self._holders.keys() >= partitions - had)
                now.reassigned += self._given(member, partitions - had, stood_by)
        self._loses(member, partitions, at, now)

    def _stands_by(self, member: str, tasks: Partitions, at: int) -> Partitions:
        """Note that a member of a streams group has exactly these standby tasks from now on, and return the former ones."""
        if self.standbys is None and tasks:
            self.standbys = Standbys(self._listeners.stands)
        return NOTHING if self.standbys is None else self.standbys.changes(member, tasks, at)

    def _exchanged(self, member: str, had: Partitions, has: Partitions) -> None:
        """Note that a member of a share group lost and got partitions, which may complete moves."""
        if self.shared is None:
            self.shared = SharedHolders()
        now = self.rebalance or self.last
        if now is not None:
            now.moves_known = now.moves_known and self._traced
            now.reassigned += self.shared.changes(now.number, Holder(member, self.processes.of(member)), had, has)

    def hangs_up(self, member: str, at: int) -> None:
        """Note that the connection by which a member has joined ended. The member's session still runs."""
        self.processes.hangs_up(member)
        if self._ownership is not None:
            self._counted(self.ownership.owns(member, NOTHING, at, hung_up=True), self.rebalance)

    def speaks_again(self, member: str, at: int) -> None:
        """Note a heartbeat or commit of a member whose connection had ended, by another one. It owns what nobody else got meanwhile."""
        if member in self.processes:
            self.processes.comes(member, None)
        if self._ownership is not None:
            self._ownership.returns(member, at)

    def _loses(self, member: str, keeps: Partitions, at: int, counted: Rebalance | None) -> None:
        """Note that a member no longer owns any partitions but `keeps`. Gaps that begin are counted in the rebalance `counted`, or in
        the next one if it is None."""
        if not keeps and self._ownership is None:
            return
        self._counted(self.ownership.owns(member, keeps, at), counted)

    def _counted(self, gaps: list[Gap], counted: Rebalance | None) -> None:
        (self.lost if counted is None else counted.gaps).extend(gaps)
