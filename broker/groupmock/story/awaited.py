"""Describe the members that a group waits for, the request that each of them owes, and how long the wait can still take.

A join phase waits for a JoinGroup of each member and of each reserved member id (KIP-394) until the rebalance timeout ends, and for a
member no longer than its session lasts. A sync phase waits for the leader's SyncGroup. A consumer group (KIP-848) waits for heartbeats that
give up partitions. The remaining time is an upper bound, because rows in memory leave out heartbeats that changed nothing. A server that
describes its own groups knows the exact deadlines of sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from groupmock_codec.group_states import ASSIGNING, COMPLETING_REBALANCE, NOT_READY, PREPARING_REBALANCE, RECONCILING, STABLE
from groupmock_codec.units import NS_PER_MS

from ..journal.rows import MemberRow, MovedRow
from ..rounds import GroupFold, Rebalance
from .asked import Asked
from .people import People, Person
from .words import MOST, count, listed, member_text, partitions_text, seconds, text


class Known(NamedTuple):
    """Facts that the caller of `awaited` knows from elsewhere than the group's rows. `sessions` maps member ids to the deadlines of
    their sessions (ns). `requests` returns the open requests of a member's client, of which JoinGroup, SyncGroup and Fetch only if a
    rule delays them. `held` is the state in which a command holds the group."""

    sessions: Mapping[str, int] = {}
    held: str | None = None
    requests: Callable[[Person], Iterable[Asked]] = lambda person: ()


NOTHING_ELSE: Final = Known()


class SyncPhases:
    """Counts the sync phases of one group that end without assignments because the leader does not send them."""

    def __init__(self) -> None:
        self._began: MovedRow | None = None
        self._in_a_row = 0
        self._last = ""

    def moved(self, row: MovedRow, name: Callable[[str], str]) -> str | None:
        """Count a sync phase if this change of state ends it without assignments. Returns which members the phase waited for, or None if
        no such phase ended."""
        if row.before == row.after:  # An operator's command has set the generation, so no join phase has ended.
            return None
        began, self._began = self._began, row if row.after == COMPLETING_REBALANCE else None
        if row.after == STABLE:
            self._in_a_row = 0
        if began is None or began.leader is None or row.after == STABLE:
            return None
        took = (row.t - began.t) // NS_PER_MS
        told = f"{name(began.leader)}, which led generation {began.generation}, had not brought the assignments (SyncGroup) after {took} ms"
        self._in_a_row += 1
        self._last = f"{seconds(row.t)}: {told}"
        return told

    @property
    def failed(self) -> str | None:
        """A description of how many sync phases in a row ended without assignments and whom the last one waited for; None if the last
        phase had assignments."""
        many = count(self._in_a_row, "sync phase")
        return f"{many} in a row ended without assignments, the last at {self._last}" if self._in_a_row else None


def awaited(fold: GroupFold, people: People, reserved: Iterable[MemberRow], now: int, known: Known = NOTHING_ELSE) -> list[str]:
    """Return a text for each thing that the group waits for, which is [] if it waits for nothing. `now` is in ns of the run."""
    held = [f"its release from {text(fold.state)} (hold_group)"] if known.held is not None and known.held == fold.state else []
    return [*_awaited(fold, people, reserved, now, known), *held]


def _awaited(fold: GroupFold, people: People, reserved: Iterable[MemberRow], now: int, known: Known) -> list[str]:
    rebalance = fold.rebalance
    if rebalance is None or not rebalance.phases:
        return list(_unsynced(fold, people, now))
    if fold.state == PREPARING_REBALANCE:
        return list(_joins(fold, rebalance, people, reserved, now, known))
    if fold.state == COMPLETING_REBALANCE:
        return [_assignments(rebalance, people, now, known)]
    if fold.state == ASSIGNING:
        return ["a heartbeat that has the target computed"]
    if fold.state == NOT_READY:
        return ["topics that go with the topology, and a heartbeat after that"]
    if fold.state == RECONCILING:
        return list(_given_up(fold, rebalance, people, now))
    return []


def waiting_for(fold: GroupFold, people: People, reserved: Iterable[MemberRow], now: int, known: Known = NOTHING_ELSE) -> str | None:
    """Return the texts of `awaited` as one sentence, or None if the group waits for nothing."""
    things = awaited(fold, people, reserved, now, known)
    if fold.rebalance is None:
        return f"awaited: {listed_apart(things)}" if things else None
    lasts = f"its rebalance is under way for {_s(now - fold.rebalance.began)}"
    state = f"{fold.state} since {seconds(fold.since)}"
    return f"{lasts}, {state}; awaited: {listed_apart(things) or 'nothing that these rows show'}"


def listed_apart(things: list[str]) -> str:
    """Join texts to a list in which each may contain commas."""
    more = [f"{len(things) - MOST} more"] if len(things) > MOST else []
    return "; ".join([*things[:MOST], *more])


def _joins(fold: GroupFold, rebalance: Rebalance, people: People, reserved: Iterable[MemberRow], now: int, known: Known) -> Iterator[str]:
    if rebalance.members_before == 0 and len(rebalance.phases) == 1:
        yield "the end of the initial delay (group.initial.rebalance.delay.ms)"
        return
    began = rebalance.phases[-1].began
    joined = [member for member, at in rebalance.joined.items() if at >= began and member in fold.members]
    # The row of a request precedes the fault that keeps the request from the coordinator, so such members have not joined yet.
    joined = [member for member in joined if not _keeps_join(people.here.get(member), known)]
    missing = sorted(fold.members.difference(joined), key=people.name)
    for member in missing:
        person = people.here.get(member)
        if person is None:
            yield f"JoinGroup of {people.name(member)}"
        else:
            earlier = _earlier(person, joined, people, rebalance.began)
            yield f"JoinGroup of {person.name}{earlier}{_how_long(person, people, began, now, known)}"
    for row in reserved:
        told = f"was told at {seconds(row.t)} to come back with this id (KIP-394)"
        yield f"JoinGroup of {member_text(row.member_id, row.client_id)}, which {told}"


def _keeps_join(person: Person | None, known: Known) -> bool:
    return person is not None and any(each.api == "JoinGroup" for each in known.requests(person))


def _earlier(person: Person, joined: Iterable[str], people: People, began: int) -> str:
    """Say that a client whose old member id is awaited has joined with a new id, so that the group waits in vain. `began` is the start
    of the rebalance."""
    came = [people.here[each] for each in joined if each in people.here and people.here[each].came >= began]
    same = [each.name for each in came if each.client_id and each.client_id == person.client_id and each.came > person.came]
    return f", an earlier member of the same client id as {listed(same)}" if same and person.instance is None else ""


def _how_long(person: Person, people: People, began: int, now: int, known: Known) -> str:
    """Return, in brackets, the member's last sign of life and what will end the wait for the member."""
    if person.closed is not None:
        sign = _connection_ended(person.closed)
    elif person.heard is not None and person.heard >= began:
        sign = f"last heard of at {seconds(person.heard)}"
    else:
        sign = "nothing was heard of it in this phase"
    # In a join phase a heartbeat is answered REBALANCE_IN_PROGRESS, and errors are always rows, so no heartbeat is missing here.
    last = max(person.heard or 0, began if person.closed is None else min(began, person.closed))
    return _brackets([sign, *_waits_itself(person, known), *_ends(person, last, people, began, now, known)])


def _ends(person: Person, last: int, people: People, began: int, now: int, known: Known) -> Iterator[str]:
    """Say when the member's session and the rebalance timeout end. `last` is the latest possible time of a sign of life."""
    exact, timeout = known.sessions.get(person.member_id), _rebalance_timeout(people, began)
    over = began + timeout * NS_PER_MS if timeout is not None else None
    end = exact if exact is not None else last + person.session_ms * NS_PER_MS if person.session_ms else None
    if end is not None and end >= now and (over is None or end < over or person.closed is None):
        most = "" if exact is not None else "at most "
        again = "" if person.closed is not None else " unless it is heard of again"
        yield f"its session{_of_ms(person.session_ms)} ends in {most}{_s(end - now)}{again}"
    # A join phase with only silent static members begins anew without a row, so its end is unknown afterwards.
    if over is not None and over >= now and (end is None or over <= end or person.closed is None):
        yield f"the rebalance timeout of {timeout} ms is over in {_s(over - now)}"


def _rebalance_timeout(people: People, began: int) -> int | None:
    """Return the rebalance timeout of the phase, which is the largest of its members' at the start, or None if one of them is unknown."""
    found = [person.rebalance_ms for person in people.here.values() if person.came <= began]
    known = [each for each in found if each is not None]
    return max(known) if known and len(known) == len(found) else None


def _assignments(rebalance: Rebalance, people: People, now: int, known: Known) -> str:
    person = people.here.get(rebalance.leader or "")
    if person is None:
        return f"SyncGroup of {people.name(rebalance.leader) if rebalance.leader else 'the leader'}, with the assignments"
    began = rebalance.phases[-1].began
    closed = [_connection_ended(person.closed)] if person.closed is not None else []
    last = now if person.closed is None else max(person.closed, began)
    facts = [*closed, *_waits_itself(person, known), *_ends(person, last, people, began, now, known)]
    return f"SyncGroup of the leader {person.name}, with the assignments{_brackets(facts)}"


def _waits_itself(person: Person, known: Known) -> Iterator[str]:
    for each in list(known.requests(person))[:MOST]:
        if each.kept_by is None:
            yield f"it waits for the answer to its {text(each.api)} since {seconds(each.at)}"
        else:
            yield f"fault rule {text(each.kept_by)} keeps its {text(each.api)} since {seconds(each.at)}"


def _given_up(fold: GroupFold, rebalance: Rebalance, people: People, now: int) -> Iterator[str]:
    began = rebalance.phases[-1].began
    for member in sorted((each for each in fold.members if fold.arrived.get(each, -1) < began), key=people.name):
        person, arrival = people.here.get(member), rebalance.arrivals.get(member)
        facts = [_connection_ended(person.closed)] if person is not None and person.closed is not None else []
        if arrival is None or arrival.told is None or member in fold.arrived:
            yield f"a heartbeat of {people.name(member)}{_brackets(facts)}"
            continue
        timeout = person.rebalance_ms if person is not None else None
        if timeout and arrival.gave_up is None:
            end = arrival.told + timeout * NS_PER_MS
            facts.append(f"its rebalance timeout of {timeout} ms is over in {_s(end - now)}")
        owed = partitions_text(arrival.revoked) or "partitions"
        yield f"{people.name(member)} to give up {owed}{_brackets([f'it was told at {seconds(arrival.told)}', *facts])}"


def _unsynced(fold: GroupFold, people: People, now: int) -> Iterator[str]:
    """Name the members that have not asked for their assignment although it is ready (KAFKA-12890)."""
    newest, last = fold.generation, fold.last
    if fold.state != STABLE or newest is None or newest.planned is None or last is None or not last.classic or newest.number != fold.epoch:
        return
    timeout = _rebalance_timeout(people, newest.began)
    for member in sorted(newest.claims.keys() & people.here.keys() - newest.heard.keys(), key=people.name):
        if people.here[member].synced == newest.number:
            continue
        end = f"the rebalance timeout of {timeout} ms is over in {_s(newest.began + timeout * NS_PER_MS - now)}" if timeout else ""
        yield f"SyncGroup of {people.name(member)}, which has not asked for its assignment{_brackets([end])}"


def _connection_ended(at: int) -> str:
    return f"its connection ended at {seconds(at)} and it has not left"


def _brackets(facts: Iterable[str]) -> str:
    told = "; ".join(each for each in facts if each)
    return f" ({told})" if told else ""


def _of_ms(timeout: int | None) -> str:
    return f" of {timeout} ms" if timeout else ""


def _s(ns: int) -> str:
    return f"{seconds(max(0, ns))} s"
