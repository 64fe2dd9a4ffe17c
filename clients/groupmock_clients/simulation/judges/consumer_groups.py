"""Check that consumer groups keep the protocol (KIP-848). Judged by rows, requests and answers alone; the core's own picture is not looked
at.

A member *has* a partition from the answer that gives it on, until a heartbeat of its own lists what it owns without it, until it leaves, or
until a row says that it was removed. Two members never have one partition. A member's epoch grows and never passes that of its group. Who
sends another epoch than it was told is fenced (110), who is not in the group is told so (25).
Sources: docs/kafka/consumer-groups.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from groupmock.core.effects import MemberChanged, Moved
from groupmock.core.environment import NO_HOLDS
from groupmock.rig.epoch_member import AWAY, JOINING
from groupmock_codec import APIS
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, OFFSET_COMMIT, OFFSET_FETCH
from groupmock_codec.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    NOT_COORDINATOR,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)
from groupmock_codec.group_states import DEAD
from groupmock_codec.units import NS_PER_MS

if TYPE_CHECKING:
    from groupmock.core.cluster import Cluster
    from groupmock.core.effects import Lease
    from groupmock.core.events import Request

    from .findings import Findings

GATES: Final = frozenset((COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR))
Spot = tuple[bytes, int]


class ToldMember:
    """The state of one member of a consumer group, as far as the answers to that member tell it. `epoch` None: it was fenced, and no
    answer told its epoch since. `has`: what it was given and has not said to have given up; `given`: its last assignment; `owes`: what
    it was told to give up, `owes_since` when (ns)."""

    def __init__(self, instance: str | None = None) -> None:
        self.instance = instance
        self.epoch: int | None = JOINING
        self.before: int | None = None
        self.has: frozenset[Any] = frozenset()
        self.given: frozenset[Any] = frozenset()
        self.topics: frozenset[str] = frozenset()
        self.regex = ""
        self.rebalance_ms = 0
        self.owes: frozenset[Any] = frozenset()
        self.owes_since: int | None = None


class ConsumerGroupJudge:
    """Checks the consumer groups whose names are in `names`. A subclass does so for another type of group: `judge` is its name in findings,
    and `key` is the API key of its heartbeats."""

    cluster: Cluster
    judge = "consumer groups"
    key = CONSUMER_GROUP_HEARTBEAT

    def __init__(self, bench: Findings) -> None:
        self.bench = bench
        self.names: frozenset[str] = frozenset()
        self.epochs: dict[str, int] = {}
        self.states: dict[str, str] = {}
        self.members: dict[tuple[str, str], ToldMember] = {}
        self._expected: dict[int, frozenset[int]] = {}

    # -- before an entry

    def expects(self, event: Request) -> None:
        """Compute the error codes that may answer this request."""
        message: Any = event.message
        if self.cluster.environment.holds is not NO_HOLDS:
            return  # An operator may hold the group and delay the request, so that the state at the end of the hold decides the answer.
        if event.key == self.key and message.group_id in self.names:
            self._expected[event.ticket] = self._codes(message) | GATES
        elif event.key == OFFSET_COMMIT and message.group_id in self.names:
            self._expected[event.ticket] = self._commit_codes(message)
        elif event.key == OFFSET_FETCH and message.groups and message.groups[0].group_id in self.names:
            asked = message.groups[0]
            member = self.members.get((asked.group_id, asked.member_id))
            right = member is not None and member.epoch == asked.member_epoch
            codes = (0,) if right else (UNKNOWN_MEMBER_ID, GROUP_ID_NOT_FOUND) if member is None else (STALE_MEMBER_EPOCH,)
            self._expected[event.ticket] = frozenset(codes) | GATES

    def _codes(self, message: Any) -> frozenset[int]:
        group, epoch = message.group_id, message.member_epoch
        holder = self._holder(group, message.instance_id)
        if epoch == JOINING:
            mine = self.members.get((group, message.member_id))
            unreleased = holder is not None and self.members[group, holder].epoch != AWAY
            return frozenset((UNRELEASED_INSTANCE_ID if unreleased else 0, *((GROUP_MAX_SIZE_REACHED,) if mine is None else ())))
        unknown = frozenset((UNKNOWN_MEMBER_ID, GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED))
        if message.instance_id is not None and holder != message.member_id:
            return unknown if holder is None else frozenset((FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED))
        member = self.members.get((group, message.member_id))
        if member is None:
            return unknown
        if epoch < 0 or epoch == member.epoch:
            return frozenset((0,))
        if epoch == member.before and self._listed(message) is not None and member.epoch is not None and epoch < member.epoch:
            return frozenset((0, FENCED_MEMBER_EPOCH))
        return frozenset((FENCED_MEMBER_EPOCH,))

    def _commit_codes(self, message: Any) -> frozenset[int]:
        member = self.members.get((message.group_id, message.member_id))
        if member is None:
            return frozenset((UNKNOWN_MEMBER_ID, GROUP_ID_NOT_FOUND))
        epoch = message.generation_id_or_member_epoch
        if epoch == member.epoch:
            return frozenset((0,))
        if member.epoch is None or epoch > member.epoch:
            return frozenset((STALE_MEMBER_EPOCH,))
        # The commit also succeeds if the member owned the partitions at the earlier epoch (KIP-1251).
        return frozenset((0, STALE_MEMBER_EPOCH))

    def _holder(self, group: str, instance: str | None) -> str | None:
        of_group = ((name, member) for (each, name), member in self.members.items() if each == group)
        return None if instance is None else next((name for name, member in of_group if member.instance == instance), None)

    # -- after it

    def happened(self, effect: Any) -> None:
        """Follow the epochs, states and members of these groups in the journal's rows."""
        if isinstance(effect, Moved) and effect.group in self.names:
            self._moved(effect)
        elif isinstance(effect, MemberChanged) and effect.group in self.names:
            self._changed(effect)

    def _moved(self, move: Moved) -> None:
        known = self.epochs.get(move.group, 0)
        if move.generation < known:
            self.bench.found(self.judge, f"the epoch of group {move.group!r} went from {known} back to {move.generation}")
        self.epochs[move.group] = move.generation
        self.states[move.group] = move.after
        # When a coordinator loads a group, the rebalance timeout of members that must give partitions up starts again.
        if move.cause == "coordinator_loaded":
            for (group, _), member in self.members.items():
                if group == move.group and member.owes_since is not None:
                    member.owes_since = self.bench.now

    def _changed(self, change: MemberChanged) -> None:
        at = change.group, change.member_id
        if change.what == "added":
            self.members[at] = ToldMember(change.group_instance_id)
        elif change.what == "removed":
            if self.members.pop(at, None) is None:
                self.bench.found(self.judge, f"{change.member_id!r} is removed from group {change.group!r}, and was not in it")
        elif change.what == "replaced":
            holder = self._holder(change.group, change.group_instance_id)
            if holder is not None:
                self.members[at] = self.members.pop((change.group, holder))
                self.members[at].epoch, self.members[at].before = JOINING, None
        elif change.what == "away":
            member = self.members[at]
            member.has, member.epoch, member.before, member.owes_since = member.has & member.given, AWAY, None, None
        elif change.what == "fenced":
            member = self.members[at]
            member.has = member.given = frozenset()
            member.epoch = member.before = member.owes_since = None

    def renewed(self, lease: Lease) -> None:
        """Check a heartbeat that the driver answered by repeating the last answer (a lease), without asking the core."""
        group, name = lease.group.group_id, lease.member.member_id
        member = self.members.get((group, name))
        if member is None or member.epoch != self.epochs.get(group) or self._owed(member):
            self.bench.found(self.judge, f"a heartbeat of {name!r} is answered by a lease, and group {group!r} has moved on")

    # -- answers

    def answered(self, asked: Request, answer: Any) -> None:
        """Check an answer against the codes expected for its request."""
        expected = self._expected.pop(asked.ticket, None)
        message: Any = asked.message
        if asked.key == self.key and message.group_id in self.names:
            if expected is not None and answer.error_code not in expected:
                self._wrong(APIS[self.key].name, message.member_id, message.group_id, {answer.error_code}, expected)
            elif not answer.error_code and message.member_epoch >= 0:
                self._beaten(message, answer)
        elif asked.key == OFFSET_COMMIT and expected is not None:
            # Other errors of a topic or partition are left out, because they say nothing about the member.
            told = {each.error_code for topic in answer.topics for each in topic.partitions} & {0, STALE_MEMBER_EPOCH, UNKNOWN_MEMBER_ID}
            if told - expected:
                self._wrong("OffsetCommit", message.member_id, message.group_id, told, expected)

        elif asked.key == OFFSET_FETCH and expected is not None and (code := answer.groups[0].error_code) not in expected:
            self._wrong("OffsetFetch", message.groups[0].member_id, message.groups[0].group_id, {code}, expected)

    def _wrong(self, api: str, member: str, group: str, codes: Iterable[int], expected: Iterable[int]) -> None:
        wanted = " or ".join(str(each) for each in sorted({*expected} - GATES))
        self.bench.found(self.judge, f"{api} of {member!r} in group {group!r} was answered {min(codes)}, not {wanted}")

    def _beaten(self, message: Any, answer: Any) -> None:
        group, name = message.group_id, answer.member_id
        member = self.members.get((group, name))
        if member is None:
            self.bench.found(self.judge, f"{name!r} is served in group {group!r}, and no row says that it is in it")
            return
        self._says(member, message)
        if message.rebalance_timeout_ms != -1:
            member.rebalance_ms = message.rebalance_timeout_ms
        self._patience(group, name, member)
        if (listed := self._listed(message)) is not None:
            member.has &= listed
        self._epoch(group, name, member, answer.member_epoch)
        if (assigned := self._assigned(answer)) is not None:
            self._given(group, name, member, assigned)
        elif message.member_epoch == JOINING:
            self.bench.found(self.judge, f"{name!r} joins group {group!r} and is told no assignment")
        owes = self._owed(member)
        if not owes:
            member.owes_since = None
        # The rebalance timeout restarts when a member has to give up other or more partitions.
        elif member.owes_since is None or not (owes & member.owes and owes <= member.owes):
            member.owes_since = self.bench.now
        member.owes = owes

    def _patience(self, group: str, name: str, member: ToldMember) -> None:
        """Check that a member which failed to give partitions up within its rebalance timeout is not served any more."""
        late = 0 if member.owes_since is None else (self.bench.now - member.owes_since) // NS_PER_MS - member.rebalance_ms
        if late > 0 and self.cluster.environment.holds is NO_HOLDS:
            text = f"{name!r} of group {group!r} gave nothing up {late} ms after its rebalance timeout, and is served"
            self.bench.found(self.judge, text)

    def _epoch(self, group: str, name: str, member: ToldMember, epoch: int) -> None:
        known = member.epoch
        if known is not None and epoch < known:
            self.bench.found(self.judge, f"the epoch of {name!r} in group {group!r} went from {known} back to {epoch}")
        if epoch > self.epochs.get(group, 0):
            self.bench.found(self.judge, f"{name!r} is at epoch {epoch}, and group {group!r} at {self.epochs.get(group, 0)}")
        if epoch != known:
            member.before, member.epoch = known, epoch

    def _given(self, group: str, name: str, member: ToldMember, spots: frozenset[Spot]) -> None:
        for (of, other), each in self.members.items():
            if of == group and each is not member and (both := self._exclusive(each.has & spots)):
                self.bench.found(self.judge, f"{self._where(min(both))} is given to {name!r} in group {group!r}, and {other!r} has it")
        for spot in spots - member.given:
            if self._is_strange(member, spot):
                self.bench.found(self.judge, f"{self._where(spot)} is given to {name!r} of group {group!r}, which does not subscribe to it")
        member.has |= spots
        member.given = spots

    # -- what a group of another type says otherwise

    def _says(self, member: ToldMember, message: Any) -> None:
        """Note what a heartbeat says that the member wants."""
        if message.subscribed_topic_names is not None:
            member.topics = frozenset(message.subscribed_topic_names)
        if message.subscribed_topic_regex is not None:
            member.regex = message.subscribed_topic_regex

    def _listed(self, message: Any) -> frozenset[Any] | None:
        """Return what a heartbeat says that the member owns, or None if it does not say so."""
        return None if message.topic_partitions is None else _spots(message.topic_partitions)

    def _assigned(self, answer: Any) -> frozenset[Any] | None:
        """Return what an answer assigns, or None if it assigns nothing new."""
        return None if answer.assignment is None else _spots(answer.assignment.topic_partitions)

    def _owed(self, member: ToldMember) -> frozenset[Any]:
        """Return what the member has to give up."""
        return member.has - member.given

    def _exclusive(self, spots: frozenset[Any]) -> frozenset[Any]:
        """Return those that only one member may have."""
        return spots

    def _where(self, spot: Any) -> str:
        return f"{self.cluster.topics.name_of(spot[0]) or 'a deleted topic'}-{spot[1]}"

    def _is_strange(self, member: ToldMember, spot: Any) -> bool:
        """Tell whether the member did not subscribe to what it is given. The topics of deleted topic ids are not known."""
        known = self.cluster.topics.name_of(spot[0])
        return known is not None and not (known in member.topics or re.fullmatch(member.regex, known))

    # -- after each step

    def look_at_all(self) -> None:
        """Check that exactly the members of these groups have a session timer."""
        timers = self.cluster.environment.timers
        if not self.names or self.cluster.environment.holds is not NO_HOLDS:
            return  # An operator may hold the group and keep back timers that have fired, so timers are not checked.
        loaded = {name for name in self.names if self.states.get(name) not in (None, DEAD)}
        armed = {key[1:] for key in timers.armed("session") if key[1] in self.names}
        members = {at for at in self.members if at[0] in loaded}
        if armed != members:
            group, name = min(armed ^ members)
            said = "has no session" if (group, name) in members else "has a session and is no member"
            self.bench.found("timers", f"{name!r} of group {group!r} {said}")


def _spots(topics: Iterable[Any]) -> frozenset[Spot]:
    return frozenset((each.topic_id, index) for each in topics for index in each.partitions)
