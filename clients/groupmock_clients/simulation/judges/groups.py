"""Check that classic groups keep the group protocol. States and generations as they are told, answers against the generation they belong
to.

The judge does not ask the fold of rows (`groupmock.rounds`). The fold takes every move of the coordinator as true, and here impossible
moves are looked for; the fold keeps the newest generation, and an answer may belong to any generation in any life of its group.

Sources: docs/kafka/group-protocol.md; what a broker's group is made of is read from the core's attributes, what it should do is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupmock.core.effects import Effects, MemberChanged, Moved, Note, TimerFired
from groupmock.core.environment import NO_HOLDS
from groupmock.core.groups.classic.group import Group
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.embedded.consumer import read_assignment
from groupmock_codec.error_codes import FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID
from groupmock_codec.group_states import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE

if TYPE_CHECKING:
    from groupmock.core.cluster import Cluster
    from groupmock.core.effects import Lease
    from groupmock.core.events import Request

    from .findings import Findings

JUDGE: Final = "groups"
MAY_FOLLOW: Final = {
    "": {EMPTY, STABLE},
    EMPTY: {PREPARING_REBALANCE, DEAD},
    PREPARING_REBALANCE: {COMPLETING_REBALANCE, EMPTY, DEAD},
    COMPLETING_REBALANCE: {STABLE, PREPARING_REBALANCE, DEAD},
    STABLE: {PREPARING_REBALANCE, DEAD},
    DEAD: set(),
}
"""Maps each group state to the states that may follow. The empty string means that the group did not exist
(docs/kafka/group-protocol.md#states)."""
REFUSED_ALONE: Final = frozenset((-1, 3, 12, 14, 15, 16, 28, 100))
"""Errors of a single partition in OffsetCommit that do not depend on its group, such as an unknown topic or too large metadata."""
CHANGES: Final = frozenset((OFFSET_COMMIT, JOIN_GROUP, 13, SYNC_GROUP, 42, 47))
"""The APIs by which a hostile peer may change a group's members, assignments or offsets."""

Key = tuple[str, int, int]


def _owed(group: Group, failed: bool) -> Iterator[tuple[str, ...]]:
    """Yield the timers that a group needs in order not to wait for ever. A join phase that `failed` waits for the next JoinGroup
    (P1-b5)."""
    name = group.group_id
    yield from (("session", name, each) for each in group.pending_joins)
    yield from (("session", name, each.member_id) for each in group.members.values() if each.join is None and each.sync is None)
    if str(group.state) == PREPARING_REBALANCE and not failed:
        yield "join", name
    if group.pending_syncs:
        yield "sync", name


class Told:
    """The answers that the members of one generation got. `given`: by the leader, member id -> assignment; None: not yet, or before a
    load."""

    __slots__ = ("given", "joined", "owners", "protocol")

    def __init__(self) -> None:
        self.protocol: str | None = None
        self.given: dict[str, bytes] | None = None
        self.owners: dict[tuple[str, int], str] = {}
        self.joined: set[str] = set()


class GroupJudge:
    """Checks classic groups after every event of the core. `spoilt`: groups that a stranger spoke to; what their members are promised
    does not hold. `unsure`: groups in which a static member was replaced since somebody last asked; who has which partition may be told
    by nobody."""

    cluster: Cluster

    def __init__(self, bench: Findings) -> None:
        self.bench = bench
        self.spoilt: set[str] = set()
        self.unsure: set[str] = set()
        self.states: dict[str, str] = {}
        self.generations: dict[str, int] = {}
        self.lives: dict[str, int] = {}
        self.told: dict[Key, Told] = {}
        self.elsewhere: frozenset[str] = frozenset()
        """The groups that ConsumerGroupJudge and ShareJudge check instead."""
        self.failed: set[str] = set()
        """The groups whose join phase failed, because the Subscription of a member cannot be read."""
        self.brought: Counter[tuple[str, int]] = Counter()
        """Counts for each (group, generation) how many SyncGroups carried the leader's assignments. Of two the first counts, and one
        that was held while its coordinator moved may be of an earlier life of the group."""
        self.renewals = 0
        self._expected: dict[int, int] = {}  # Maps a ticket to the error code with which the group must answer.

    # -- before an entry

    def expects(self, event: Request) -> None:
        """Compute the error code with which the protocol answers this request."""
        message: Any = event.message
        if event.connection in self.bench.strange and event.key in CHANGES:
            self._spoil(message)
        if event.key == SYNC_GROUP and message.assignments:
            self.brought[message.group_id, message.generation_id] += 1
        if event.key not in (HEARTBEAT, OFFSET_COMMIT) or self.cluster.environment.holds is not NO_HOLDS:
            return
        group = self.group(message.group_id)
        if group is None or self.cluster.groups.gate(message.group_id, event.node):
            return
        if event.key == HEARTBEAT:
            self._expected[event.ticket] = self._code(group, message, message.generation_id, REBALANCE_IN_PROGRESS, 0)
        elif message.generation_id_or_member_epoch >= 0:
            self._expected[event.ticket] = self._code(group, message, message.generation_id_or_member_epoch, 0, REBALANCE_IN_PROGRESS)

    def _code(self, group: Group, message: Any, generation: int, preparing: int, completing: int) -> int:
        instance = message.group_instance_id
        if instance is not None:
            mapped = next((each.member_id for each in group.members.values() if each.group_instance_id == instance), None)
            if mapped is None:
                return UNKNOWN_MEMBER_ID
            if mapped != message.member_id:
                return FENCED_INSTANCE_ID
        if message.member_id not in group.members:
            return UNKNOWN_MEMBER_ID
        if generation != group.generation:
            return ILLEGAL_GENERATION
        return {PREPARING_REBALANCE: preparing, COMPLETING_REBALANCE: completing}.get(str(group.state), 0)

    def _spoil(self, message: Any) -> None:
        named = [getattr(message, "group_id", None), *getattr(message, "groups_names", ())]
        self.spoilt.update(each for each in named if isinstance(each, str))

    # -- after it

    def happened(self, effects: Effects) -> None:
        """Follow the effects of an event, and check the groups that changed."""
        touched: dict[str, None] = {}
        for effect in effects:
            if isinstance(effect, Moved):
                self._moved(effect)
                self.failed.discard(effect.group)
                touched[effect.group] = None
            elif isinstance(effect, Note) and effect.what == "join_phase_failed":
                self._failed(effect.fields)
            elif isinstance(effect, MemberChanged):
                touched[effect.group] = None
                if effect.what == "replaced":
                    self.unsure.add(effect.group)
            elif isinstance(effect, TimerFired) and effect.subject and effect.subject[0] not in self.elsewhere:
                touched[effect.subject[0]] = None
        self.look_at(touched)

    def _failed(self, fields: Mapping[str, Any]) -> None:
        """Note a failed attempt to end the join phase, which has increased the generation nevertheless (P1-b5)."""
        self.failed.add(fields["group"])
        self.generations[fields["group"]] = fields["generation"]

    def look_at(self, names: Iterable[str]) -> None:
        """Check the invariants of the groups with these names."""
        for name in names:
            group = self.group(name)
            # A group created by its first commit is classic, and becomes a consumer group when a member of that protocol joins.
            if group is None or name in self.elsewhere:
                continue
            try:
                group.invariants()
            except AssertionError as broken:
                self.bench.found("invariants", str(broken))
            if self.states.get(name) != str(group.state):
                self.bench.found(JUDGE, f"group {name!r} is {group.state}, and was told to be {self.states.get(name)}")

    def look_at_all(self) -> None:
        """Check the invariants and the timers of every group."""
        self.look_at([group.group_id for group in self.cluster.groups.all()])
        if self.cluster.environment.holds is not NO_HOLDS:
            return  # An operator may hold the group and keep back timers that have fired, so timers are not checked.
        timers = self.cluster.environment.timers
        for group in self.peopled():
            missing = [key for key in _owed(group, group.group_id in self.failed) if key not in timers]
            if missing:
                self.bench.found("timers", f"group {group.group_id!r} in {group.state} waits for {missing[0]}, which is not armed")
        for _, name, member in timers.armed("session"):
            if name in self.elsewhere:
                continue
            found = self.group(name)
            if found is None or not (member in found.members or member in found.pending_joins):
                self.bench.found("timers", f"the session of {member!r} is armed, and group {name!r} has no such member")

    def peopled(self) -> list[Group]:
        """Return all classic groups of the cluster, including empty ones."""
        return [group for group in self.cluster.groups.all() if isinstance(group, Group)]

    def group(self, name: str) -> Group | None:
        """Return the classic group of that name, or None."""
        found = self.cluster.groups.find(name)
        return found if isinstance(found, Group) else None

    def _moved(self, move: Moved) -> None:
        name, before = move.group, self.states.get(move.group, "")
        if move.before != before and not (before == DEAD and move.before == ""):
            self.bench.found(JUDGE, f"group {name!r} was {before or 'not there'} and leaves {move.before or 'nothing'}")
        if move.after not in MAY_FOLLOW[move.before]:
            self.bench.found(JUDGE, f"group {name!r} moved from {move.before or 'nothing'} to {move.after}")
        self._generation(move)
        if move.before == "":
            self.lives[name] = self.lives.get(name, 0) + 1
        if move.before == COMPLETING_REBALANCE and move.after == STABLE:
            self._all_joined(name, move.generation)
        self.states[name], self.generations[name] = move.after, move.generation

    def _all_joined(self, name: str, generation: int) -> None:
        group = self.group(name)
        told = self.told.get((name, self.lives.get(name, 0), generation))
        if group is None or told is None or str(group.state) != STABLE:  # The group may have left the state Stable within the same event.
            return
        silent = [each.member_id for each in group.members.values() if each.group_instance_id is None and each.member_id not in told.joined]
        if silent:
            self.bench.found(JUDGE, f"generation {generation} of group {name!r} has {silent[0]!r}, which did not join it")

    def _generation(self, move: Moved) -> None:
        before = self.generations.get(move.group, 0)
        if move.before == "":
            wanted = 0 if move.cause != "coordinator_loaded" else move.generation
        else:
            wanted = before + (move.before == PREPARING_REBALANCE and move.after in (COMPLETING_REBALANCE, EMPTY))
        if move.generation != wanted:
            way = f"from {move.before or 'nothing'} to {move.after}"
            self.bench.found(JUDGE, f"group {move.group!r} went {way} in generation {move.generation}, not {wanted}")

    # -- answers

    def answered(self, asked: Request, answer: Any) -> None:
        """Check a successful answer, or compare its error with the expected one."""
        expected = self._expected.pop(asked.ticket, None)
        if asked.key == HEARTBEAT:
            if expected is not None and answer.error_code != expected:
                self._wrong(asked, answer.error_code, expected)
        elif asked.key == OFFSET_COMMIT:
            if expected is not None:
                self._commit(asked, answer, expected)
        elif asked.key == JOIN_GROUP and answer.error_code == 0:
            self._joined(asked, answer)
        elif asked.key == SYNC_GROUP and answer.error_code == 0:
            self._synced(asked, answer)

    def renewed(self, lease: Lease) -> None:
        """Check a heartbeat that the driver answered by repeating the last answer (a lease), without asking the core."""
        self.renewals += 1
        group = self.group(lease.group.group_id)
        if group is None or lease.member.member_id not in group.members or str(group.state) not in (STABLE, COMPLETING_REBALANCE):
            self.bench.found(JUDGE, f"a heartbeat of {lease.member.member_id!r} is answered 0 by a lease, and its group has moved on")

    def _wrong(self, asked: Request, code: int, expected: int) -> None:
        message: Any = asked.message
        name = "Heartbeat" if asked.key == HEARTBEAT else "OffsetCommit"
        self.bench.found(JUDGE, f"{name} of {message.member_id!r} in group {message.group_id!r} was answered {code}, not {expected}")

    def _commit(self, asked: Request, answer: Any, expected: int) -> None:
        codes = {each.error_code for topic in answer.topics for each in topic.partitions}
        wrong = codes - {expected, *REFUSED_ALONE}
        if wrong:
            self._wrong(asked, min(wrong), expected)

    def _of(self, name: str, generation: int) -> Told:
        return self.told.setdefault((name, self.lives.get(name, 0), generation), Told())

    def _joined(self, asked: Request, answer: Any) -> None:
        message: Any = asked.message
        name = message.group_id
        told, group = self._of(name, answer.generation_id), self.group(name)
        ids = [each.member_id for each in answer.members]
        if told.protocol is not None and answer.protocol_name != told.protocol:
            self.bench.found(JUDGE, f"generation {answer.generation_id} of group {name!r} has two protocols")
        told.protocol = answer.protocol_name
        told.joined.add(answer.member_id)
        if len(ids) != len(set(ids)):
            self.bench.found(JUDGE, f"the leader's list of group {name!r} names a member twice")
        if ids and (answer.member_id != answer.leader or answer.leader not in ids):
            self.bench.found(JUDGE, f"the list of group {name!r} went to {answer.member_id!r}, and {answer.leader!r} leads")
        if group is None or group.generation != answer.generation_id or str(group.state) == PREPARING_REBALANCE:
            return
        if ids and sorted(ids) != sorted(group.members):
            self.bench.found(JUDGE, f"the leader of group {name!r} is told {len(ids)} members, there are {len(group.members)}")
        if not all(any(listed == answer.protocol_name for listed, _ in each.protocols) for each in group.members.values()):
            self.bench.found(JUDGE, f"not all members of group {name!r} list its protocol {answer.protocol_name!r}")

    def _synced(self, asked: Request, answer: Any) -> None:
        message: Any = asked.message
        name, member = message.group_id, message.member_id
        told, group = self._of(name, message.generation_id), self.group(name)
        if told.given is None and message.assignments and group is not None and group.leader_id == member:
            told.given = {each.member_id: each.assignment for each in message.assignments}
        if name in self.spoilt or message.group_instance_id is not None or self.brought[name, message.generation_id] > 1:
            self._owns(told, name, member, answer.assignment, loose=True)
            return
        if told.given is not None and answer.assignment != told.given.get(member, b""):
            self.bench.found(JUDGE, f"{member!r} of group {name!r} got another assignment than its leader gave it")
        self._owns(told, name, member, answer.assignment, loose=False)

    def _owns(self, told: Told, name: str, member: str, data: bytes, loose: bool) -> None:
        assignment = read_assignment(data)
        for topic in assignment.assigned_partitions if assignment is not None else ():
            for index in topic.partitions:
                owner = told.owners.setdefault((topic.topic, index), member)
                if owner != member and not loose:
                    self.bench.found(JUDGE, f"{topic.topic}-{index} belongs to {owner!r} and {member!r} in a generation of group {name!r}")
                told.owners[topic.topic, index] = member

    def owner(self, name: str, generation: int, topic: str, partition: int) -> set[str]:
        """Return the members to which that partition was assigned in that generation of the group, also if the group was deleted and
        created again."""
        keys = ((name, life, generation) for life in range(self.lives.get(name, 0) + 1))
        return {told.owners.get((topic, partition), "") for key in keys if (told := self.told.get(key)) is not None}
