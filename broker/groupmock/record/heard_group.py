"""One group as the wire shows it: who is in it, in which state, and the rows that a coordinator of ours would have written about that.

What moves it is told by `record.coordinator`; here stand the moves. The rules are those of the classic group (theory:
`core.groups.classic.states` and `rebalance`), so far as what members say and are told lets an onlooker apply them.
"""

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
"""Ids that were given and not used yet; of more the oldest is forgotten."""

Protocols = tuple[tuple[str, bytes], ...]


class Inferred(msgspec.Struct, frozen=True):
    """A sentence whose cause is on no wire: no word for it."""

    sentence: str
    cause: None = None


Reason = Why | Inferred


def seen(sentence: str) -> Inferred:
    """Return a sentence about what an onlooker can see."""
    return Inferred(SEEN + sentence)


class HeardMember(msgspec.Struct, eq=False):
    """A member of a recorded group. `parked`: ticket of its JoinGroup that has no answer; `alive`: when it was last told that it is one
    (ns); `asked`: the latest time at which the coordinator began to count its session: when it had asked for that, by JoinGroup,
    Heartbeat or OffsetCommit."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    protocols: Protocols
    session_timeout_ms: int
    parked: int | None = None
    alive: int = 0
    asked: int = 0
    nameless: bool = False  # it joined without an id, and the answer that tells it has not come

    def session_over(self, now: int) -> bool:
        """Return whether its session is over by now. That is unknown for a member that was there before the recording."""
        return self.parked is None and self.session_timeout_ms > 0 and self.alive + self.session_timeout_ms * NS_PER_MS < now

    def may_be_over(self, now: int) -> bool:
        """`session_over`, if the coordinator's timer began as early as it can have."""
        return self.parked is None and self.asked > 0 < self.session_timeout_ms and self.asked + self.session_timeout_ms * NS_PER_MS < now


class HeardGroup:
    """`state`: as far as it was heard; `told`: is there a row that says there is this group?; `whole`: was it heard from its beginning, so
    that nobody is in it whom we do not know?; `since`: of the last move (ns); `initial`: the join phase began in Empty; `last`: what
    happened last in it; `reserved`: ids that wait to be used, and until when; `waiting`: tickets of JoinGroups that may begin a rebalance
    or not, with what it would be called; `unsaid`: what answers of a new generation showed while some of its members have no id yet."""

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
        """Return the group as it is now, in case the member's request is refused."""
        made = copy(self)
        made.members, made.reserved, made.waiting = dict(self.members), dict(self.reserved), dict(self.waiting)
        if member_id in made.members:
            made.members[member_id] = copy(made.members[member_id])
        return made

    # What is told

    def created(self, out: Effects, client_id: str | None, now: int) -> None:
        """There is such a group, told once."""
        if not self.told and self.whole:
            self.told = True
            out.append(self._moved("", seen(f"the first JoinGroup of this recording, by client {client_id or ''!r}")))
            self.since = now

    def move(self, out: Effects, after: str, why: Reason, now: int) -> None:
        """Move the group to another state."""
        before, self.before, self.state, self.since, self.told = self.state, self.state, after, now, True
        out.append(self._moved(before, why))

    def changed(self, out: Effects, member: HeardMember | str, what: str, why: Reason) -> None:
        """Something happened to a member, or to an id that is none's yet."""
        if isinstance(member, str):
            out.append(_member_changed(self.group_id, member, what, why))
        elif not member.nameless:
            out.append(_member_changed(self.group_id, member.member_id, what, why, member))

    # Who comes

    def reserve(self, out: Effects, member_id: str, client_id: str | None, until: int) -> None:
        """79: an id to come back with, as long as a session lasts."""
        if len(self.reserved) >= MOST_RESERVED:
            del self.reserved[next(iter(self.reserved))]
        self.reserved[member_id] = until
        self.changed(out, member_id, "reserved", causes.id_reserved(client_id))

    def forget_reserved(self, now: int) -> None:
        """Forget the ids whose time is over."""
        if self.reserved:
            self.reserved = {member_id: until for member_id, until in self.reserved.items() if until > now}

    def add(self, out: Effects, member: HeardMember, why: Reason) -> None:
        """A newcomer, its JoinGroup parked."""
        self.reserved.pop(member.member_id, None)
        first = not self.members and self.whole
        self.members[member.member_id] = member
        self.changed(out, member, "added", why)
        if first:
            self.lead(out, member.member_id, causes.FIRST_MEMBER)

    def named(self, out: Effects, member: HeardMember, member_id: str) -> None:
        """The answer tells the id of who joined without one."""
        place, leads = member.member_id, self.leader == member.member_id
        member.member_id, member.nameless = member_id, False
        # At its old place: members stand in the order in which they came
        self.members = {member_id if known == place else known: each for known, each in self.members.items()}
        self.changed(out, member, "added", causes.member_joined(member_id))
        if leads:
            self.lead(out, member_id, causes.FIRST_MEMBER)

    def replaced(self, out: Effects, old: HeardMember, member_id: str) -> None:
        """A static member came back under another id (KIP-345)."""
        instance = old.group_instance_id or ""
        del self.members[old.member_id]
        former, old.member_id = old.member_id, member_id
        self.members[member_id] = old
        self.changed(out, old, "replaced", causes.instance_replaced(instance, member_id, former))
        if self.leader == former:
            self.leader = member_id

    def lead(self, out: Effects, member_id: str, why: Why) -> None:
        """Let the member lead the group."""
        self.leader = member_id
        member = self.members.get(member_id)
        if member is not None:
            self.changed(out, member, "led", causes.leads(member_id, why))

    def fits(self, protocol_type: str, protocols: Protocols) -> bool:
        """Would it be refused with 23? An Empty group takes any named type and non-empty list; others their type and a name of all."""
        if not (protocol_type and protocols):
            return False
        lists = [{name for name, _ in each.protocols} for each in self.members.values() if each.protocols]
        if self.state == EMPTY or not lists:
            return True
        return protocol_type == self.protocol_type and not set.intersection({name for name, _ in protocols}, *lists).isdisjoint(lists[0])

    @property
    def unseen(self) -> bool:
        """Was nothing seen of it that a refusal would not show as well?"""
        return not (self.told or self.members or self.reserved or self.waiting or self.unsaid)

    def of_instance(self, group_instance_id: str | None) -> HeardMember | None:
        """The member with that instance id."""
        if group_instance_id is None:
            return None
        return next((each for each in self.members.values() if each.group_instance_id == group_instance_id), None)

    # Who goes

    def remove(self, out: Effects, member: HeardMember, why: Reason) -> None:
        """It is no member any more."""
        if self.members.pop(member.member_id, None) is None:
            return
        self.changed(out, member, "removed", why)
        if self.leader == member.member_id:  # who leads next the coordinator tells when the join phase ends
            self.leader, self.led_before = None, member.member_id

    def overdue(self, now: int) -> list[HeardMember]:
        """Return members that gave no sign of life for their session timeout and wait for no answer."""
        return [each for each in self.members.values() if each.session_over(now)]

    def perhaps_overdue(self, now: int, alive: str) -> HeardMember | None:
        """Whose session ended first, if any may have; not that of `alive`."""
        found = [each for each in self.members.values() if each.member_id != alive and each.may_be_over(now)]
        return min(found, key=lambda each: each.asked + each.session_timeout_ms * NS_PER_MS, default=None)

    # Phases

    def prepare(self, out: Effects, why: Reason, now: int, ticket: int | None = None) -> None:
        """Begin to collect JoinGroups. `ticket` is that of the request that was taken for its beginning. If no member is left, the phase
        ends at once."""
        self.initial, self.last, self.begun_by = self.state == EMPTY, None, ticket
        self.move(out, PREPARING_REBALANCE, why, now)
        self.empty(out, causes.NOBODY_AWAITED, now)

    def went(self, out: Effects, why: Reason, now: int, ticket: int | None = None) -> None:
        """Members went: a rebalance begins, or the one under way may end by it."""
        if self.state in (STABLE, COMPLETING_REBALANCE):
            self.prepare(out, why, now, ticket)
        elif self.state == PREPARING_REBALANCE:
            self.last = why
            self.empty(out, why, now)

    def empty(self, out: Effects, why: Reason, now: int) -> None:
        """A join phase with nobody left in it is over; the initial one waits for its delay, which is on no wire."""
        awaited = any(until > now for until in self.reserved.values())
        if self.members or awaited or self.initial or not self.whole or self.state != PREPARING_REBALANCE:
            return
        self.generation += 1
        self.leader = self.protocol_name = None
        self.move(out, EMPTY, causes.no_members_left(why) if isinstance(why, Why) else why, now)

    def complete(self, out: Effects, generation: int, protocol: str | None, leader: str, now: int) -> None:
        """The first answer of a new generation: the join phase is over."""
        silent = [each for each in self.members.values() if each.parked is None]
        why = self._why_complete(silent)
        for each in silent:
            if each.group_instance_id is None:
                self.remove(out, each, causes.member_silent(each.member_id, why) if isinstance(why, Why) else why)
        if leader != self.leader and leader in self.members:
            self.lead(out, leader, causes.LEADER_SILENT if self.leader is not None else causes.leader_gone(self.led_before))
        for each in self.members.values():
            each.alive = now  # all sessions start again
        self.generation, self.protocol_name, self.leader = generation, protocol, leader
        self.move(out, COMPLETING_REBALANCE, why, now)

    def back(self, out: Effects, why: Reason, now: int) -> None:
        """The join phase that was taken to begin never did."""
        self.begun_by = None
        self.move(out, self.before, why, now)

    def say(self) -> list[tuple[int, Effect]]:
        """Return the unsaid rows: new members in the order in which they asked, which is not that of their answers."""
        unsaid, self.unsaid = self.unsaid, []
        places = {member_id: place for place, member_id in enumerate(self.members)}
        last = len(places)

        def order(each: tuple[int, Effect]) -> int:
            effect = each[1]
            return places.get(effect.member_id, last) if isinstance(effect, MemberChanged) and effect.what in ("added", "led") else last

        return sorted(unsaid, key=order)

    @property
    def nameless(self) -> bool:
        """Is somebody in it whose id nobody was told yet?"""
        return any(each.nameless for each in self.members.values())

    # Inside

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
