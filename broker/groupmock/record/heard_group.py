"""A classic group as an observer of the wire knows it: its members, its state, and the rows that groupmock's own coordinator would have
written about them. `record.coordinator` decides what changes the group, and this module applies the changes. The rules are those of the
classic group (`core.groups.classic.states` and `rebalance`), as far as an observer of requests and answers can apply them."""

from __future__ import annotations

from copy import copy
from typing import Final

import msgspec

from groupmock_codec.group_states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from groupmock_codec.units import NS_PER_MS

from ..core.effects import Effect, MemberChanged, Moved
from ..core.groups import causes
from ..core.groups.causes import Why

SEEN: Final = "as seen from the wire: "
Effects = list[Effect]
MOST_RESERVED: Final = 10_000
"""At most this many assigned and unused member ids are kept; the oldest is forgotten if there are more."""

Protocols = tuple[tuple[str, bytes], ...]


class Inferred(msgspec.Struct, frozen=True):
    """The reason of a change that the wire does not show, as a sentence without a cause."""

    sentence: str
    cause: None = None


Reason = Why | Inferred


def seen(sentence: str) -> Inferred:
    """Return a reason that an observer of the wire can give."""
    return Inferred(SEEN + sentence)


class HeardMember(msgspec.Struct, eq=False):
    """A member of an observed group. `parked` is the ticket of its unanswered JoinGroup. `alive` is the last time (ns) when an answer
    confirmed its membership. `asked` is the time of its last successful JoinGroup, Heartbeat or OffsetCommit, when the coordinator may have
    begun its session at the earliest."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    protocols: Protocols
    session_timeout_ms: int
    parked: int | None = None
    alive: int = 0
    asked: int = 0
    nameless: bool = False  # True if the member joined without an id and the answer with its id has not come.

    def session_over(self, now: int) -> bool:
        """Return whether the member's session has certainly expired. That is unknown for a member that joined before the recording."""
        return self.parked is None and self.session_timeout_ms > 0 and self.alive + self.session_timeout_ms * NS_PER_MS < now

    def may_be_over(self, now: int) -> bool:
        """Return whether the member's session has expired if the coordinator started its timer at the earliest possible time."""
        return self.parked is None and self.asked > 0 < self.session_timeout_ms and self.asked + self.session_timeout_ms * NS_PER_MS < now


class HeardGroup:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.state = EMPTY
        self.before = EMPTY
        self.told = False
        self.whole = True
        self.generation = 0
        self.leader: str | None = None
        self.led_before = ""
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.members: dict[str, HeardMember] = {}
        self.reserved: dict[str, int] = {}
        self.waiting: dict[int, Reason] = {}
        self.since = 0
        self.initial = False
        self.last: Reason | None = None
        self.begun_by: int | None = None
        self.unsaid: list[tuple[int, Effect]] = []

    def copy(self, member_id: str) -> HeardGroup:
        """Return a copy of the group, to be restored if the member's request is refused."""
        made = copy(self)
        made.members, made.reserved, made.waiting = dict(self.members), dict(self.reserved), dict(self.waiting)
        if member_id in made.members:
            made.members[member_id] = copy(made.members[member_id])
        return made

    def created(self, out: Effects, client_id: str | None, now: int) -> None:
        """Record the group's creation, once."""
        if not self.told and self.whole:
            self.told = True
            out.append(self._moved("", seen(f"the first JoinGroup of this recording, by client {client_id or ''!r}")))
            self.since = now

    def move(self, out: Effects, after: str, why: Reason, now: int) -> None:
        """Move the group to another state."""
        before, self.before, self.state, self.since, self.told = self.state, self.state, after, now, True
        out.append(self._moved(before, why))

    def changed(self, out: Effects, member: HeardMember | str, what: str, why: Reason) -> None:
        """Record a change of a member, or of an assigned member id that no member uses yet."""
        if isinstance(member, str):
            out.append(_member_changed(self.group_id, member, what, why))
        elif not member.nameless:
            out.append(_member_changed(self.group_id, member.member_id, what, why, member))

    def reserve(self, out: Effects, member_id: str, client_id: str | None, until: int) -> None:
        """Record a member id that the coordinator assigned with MEMBER_ID_REQUIRED (79). It is valid for one session timeout."""
        if len(self.reserved) >= MOST_RESERVED:
            del self.reserved[next(iter(self.reserved))]
        self.reserved[member_id] = until
        self.changed(out, member_id, "reserved", causes.id_reserved(client_id))

    def forget_reserved(self, now: int) -> None:
        """Forget the member ids that were assigned but not used in time."""
        if self.reserved:
            self.reserved = {member_id: until for member_id, until in self.reserved.items() if until > now}

    def add(self, out: Effects, member: HeardMember, why: Reason) -> None:
        """Add a new member whose JoinGroup waits for its answer."""
        self.reserved.pop(member.member_id, None)
        first = not self.members and self.whole
        self.members[member.member_id] = member
        self.changed(out, member, "added", why)
        if first:
            self.lead(out, member.member_id, causes.FIRST_MEMBER)

    def named(self, out: Effects, member: HeardMember, member_id: str) -> None:
        """Give a member that joined without an id the id of its JoinGroup answer."""
        place, leads = member.member_id, self.leader == member.member_id
        member.member_id, member.nameless = member_id, False
        # The member keeps its position, because members stand in the order in which they joined.
        self.members = {member_id if known == place else known: each for known, each in self.members.items()}
        self.changed(out, member, "added", causes.member_joined(member_id))
        if leads:
            self.lead(out, member_id, causes.FIRST_MEMBER)

    def replaced(self, out: Effects, old: HeardMember, member_id: str) -> None:
        """Replace the member id of a static member that came back (KIP-345)."""
        instance = old.group_instance_id or ""
        del self.members[old.member_id]
        former, old.member_id = old.member_id, member_id
        self.members[member_id] = old
        self.changed(out, old, "replaced", causes.instance_replaced(instance, member_id, former))
        if self.leader == former:
            self.leader = member_id

    def lead(self, out: Effects, member_id: str, why: Why) -> None:
        """Note that the member leads the group from now on."""
        self.leader = member_id
        member = self.members.get(member_id)
        if member is not None:
            self.changed(out, member, "led", causes.leads(member_id, why))

    def fits(self, protocol_type: str, protocols: Protocols) -> bool:
        """Return whether the coordinator would accept these protocols, and not answer INCONSISTENT_GROUP_PROTOCOL (23). An Empty group
        takes any type and list that are not empty; other groups want their own type and a name that all members share."""
        if not (protocol_type and protocols):
            return False
        lists = [{name for name, _ in each.protocols} for each in self.members.values() if each.protocols]
        if self.state == EMPTY or not lists:
            return True
        return protocol_type == self.protocol_type and not set.intersection({name for name, _ in protocols}, *lists).isdisjoint(lists[0])

    @property
    def unseen(self) -> bool:
        """Return whether everything known about the group could also come from a request that was refused."""
        return not (self.told or self.members or self.reserved or self.waiting or self.unsaid)

    def of_instance(self, group_instance_id: str | None) -> HeardMember | None:
        """Return the static member with this group instance id, if there is one."""
        if group_instance_id is None:
            return None
        return next((each for each in self.members.values() if each.group_instance_id == group_instance_id), None)

    def remove(self, out: Effects, member: HeardMember, why: Reason) -> None:
        """Remove a member from the group."""
        if self.members.pop(member.member_id, None) is None:
            return
        self.changed(out, member, "removed", why)
        if self.leader == member.member_id:  # The coordinator's answers show the next leader only when the join phase ends.
            self.leader, self.led_before = None, member.member_id

    def overdue(self, now: int) -> list[HeardMember]:
        """Return the members that gave no sign of life for their session timeout and wait for no answer."""
        return [each for each in self.members.values() if each.session_over(now)]

    def perhaps_overdue(self, now: int, alive: str) -> HeardMember | None:
        """Return the member whose session may have expired first, except the member `alive`, or None."""
        found = [each for each in self.members.values() if each.member_id != alive and each.may_be_over(now)]
        return min(found, key=lambda each: each.asked + each.session_timeout_ms * NS_PER_MS, default=None)

    def prepare(self, out: Effects, why: Reason, now: int, ticket: int | None = None) -> None:
        """Begin a join phase of the group, which ends at once if no member is left. `ticket` is the request that is assumed to have
        caused it."""
        self.initial, self.last, self.begun_by = self.state == EMPTY, None, ticket
        self.move(out, PREPARING_REBALANCE, why, now)
        self.empty(out, causes.NOBODY_AWAITED, now)

    def went(self, out: Effects, why: Reason, now: int, ticket: int | None = None) -> None:
        """Begin a rebalance because members have left. A running join phase may end instead."""
        if self.state in (STABLE, COMPLETING_REBALANCE):
            self.prepare(out, why, now, ticket)
        elif self.state == PREPARING_REBALANCE:
            self.last = why
            self.empty(out, why, now)

    def empty(self, out: Effects, why: Reason, now: int) -> None:
        """End a join phase in which no member is left. The first join phase waits for its initial delay, which the wire does not show."""
        awaited = any(until > now for until in self.reserved.values())
        if self.members or awaited or self.initial or not self.whole or self.state != PREPARING_REBALANCE:
            return
        self.generation += 1
        self.leader = self.protocol_name = None
        self.move(out, EMPTY, causes.no_members_left(why) if isinstance(why, Why) else why, now)

    def complete(self, out: Effects, generation: int, protocol: str | None, leader: str, now: int) -> None:
        """End the join phase, because an answer to JoinGroup has a new generation."""
        silent = [each for each in self.members.values() if each.parked is None]
        why = self._why_complete(silent)
        for each in silent:
            if each.group_instance_id is None:
                self.remove(out, each, causes.member_silent(each.member_id, why) if isinstance(why, Why) else why)
        if leader != self.leader and leader in self.members:
            self.lead(out, leader, causes.LEADER_SILENT if self.leader is not None else causes.leader_gone(self.led_before))
        for each in self.members.values():
            each.alive = now  # Once the join phase ends, the sessions of all members start anew.
        self.generation, self.protocol_name, self.leader = generation, protocol, leader
        self.move(out, COMPLETING_REBALANCE, why, now)

    def back(self, out: Effects, why: Reason, now: int) -> None:
        """Take back the move to PreparingRebalance, because the request that was assumed to cause it was refused."""
        self.begun_by = None
        self.move(out, self.before, why, now)

    def say(self) -> list[tuple[int, Effect]]:
        """Return the rows that wait, with new members in the order of their requests, because the answers come in another order."""
        unsaid, self.unsaid = self.unsaid, []
        places = {member_id: place for place, member_id in enumerate(self.members)}
        last = len(places)

        def order(each: tuple[int, Effect]) -> int:
            effect = each[1]
            return places.get(effect.member_id, last) if isinstance(effect, MemberChanged) and effect.what in ("added", "led") else last

        return sorted(unsaid, key=order)

    @property
    def nameless(self) -> bool:
        """Return whether a member of the group has no known id yet."""
        return any(each.nameless for each in self.members.values())

    def _why_complete(self, silent: list[HeardMember]) -> Reason:
        if self.initial:
            return causes.INITIAL_DELAY_OVER
        if silent:
            return causes.REBALANCE_TIMEOUT_OVER
        return self.last or causes.NOBODY_AWAITED

    def _moved(self, before: str, why: Reason) -> Moved:
        return Moved(
            group=self.group_id,
            before=before,
            after=self.state,
            generation=self.generation,
            cause=why.cause,
            reason=why.sentence,
            leader=self.leader,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            members=len(self.members),
        )


def _member_changed(group: str, member_id: str, what: str, why: Reason, member: HeardMember | None = None) -> MemberChanged:
    return MemberChanged(
        group,
        member_id,
        what,
        why.cause,
        why.sentence,
        *((member.group_instance_id, member.client_id, member.client_host) if member is not None else ()),
    )
