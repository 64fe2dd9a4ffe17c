"""Causes that are about members: two processes with one static id, slow polls, and processes that end without leaving."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...rounds.embedded import Partitions
from ...rounds.tasks import is_task
from ..evidence import Gone
from ..people import Person
from ..words import partitions_text, text
from .case import SOON, Case, Likely, at

EXPIRED, LEFT, SILENT = "session_expired", "member_left", "member_silent"
"""The coordinator's words for why a member was removed."""
FENCED: Final = frozenset(("FENCED_INSTANCE_ID", "UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"))
"""Errors for a member whose static id belongs to another process. Heartbeat v0-v2 cannot name the static id."""
UNRELEASED: Final = "UNRELEASED_INSTANCE_ID"
OF_MEMBERS: Final = ("Heartbeat", "SyncGroup", "JoinGroup", "OffsetCommit", "TxnOffsetCommit", "ConsumerGroupHeartbeat", "OffsetFetch")


def static_id_twice(case: Case) -> Iterator[Likely]:
    """A client took the place of a static member, and the old process was refused afterwards; or a client was refused because the member
    with its static id is still connected (KIP-848)."""
    for refused in case.refusals(*OF_MEMBERS):
        taken = case.evidence.replaced.get(refused.member)
        if taken is not None and refused.error in FENCED and refused.at >= taken.at:
            old, new = text(taken.old.client_id or "a client"), text(taken.by or "another client")
            both, second = (f"{old} and {new} both use", new) if old != new else (f"two processes of {old} use", "the second")
            how = f"{second} took its place {at(taken.at)}, and the first's {refused.api} was refused {at(refused.at)}"
            yield Likely(f"{both} group.instance.id {text(taken.instance)}: {how}", frozenset((refused.member,)))
        elif refused.error == UNRELEASED:
            owner = next((each for each in case.here if each.instance == refused.instance and each.closed is None), None)
            if owner is not None:
                who, what = text(refused.client_id or "a client"), f"{refused.api} was refused {at(refused.at)} ({UNRELEASED})"
                yield Likely(f"{who}'s {what}: {owner.name} (client {text(owner.client_id)}) uses the same group.instance.id and is there")


def polls_too_slowly(case: Case) -> Iterator[Likely]:
    """A member left and said that its poll timeout is over, or left and kept its connection, or did not join again while its connection
    was open, or let its session expire while its connection was open."""
    for gone in case.evidence.gone.values():
        if gone.ordered:
            continue
        person, members = gone.person, frozenset((gone.person.member_id,))
        slow = f"{person.name} polled too slowly"
        if gone.cause == LEFT and "poll" in gone.reason.partition(" left: ")[2]:
            yield Likely(f"{slow}: it left {at(gone.at)} ({gone.how.removeprefix('it left: ')}){_afterwards(case, gone)}", members)
        elif gone.cause == LEFT:
            after = _afterwards(case, gone)
            if after and (_came_back(case, gone) or _open_later(case, gone)):
                yield Likely(f"{slow} (max.poll.interval.ms): it left {at(gone.at)}, kept its connection{after}", members)
        elif gone.cause == SILENT and (gone.closed or case.now) >= gone.at and not _steered(case):
            yield Likely(
                f"{slow} (max.poll.interval.ms): it did not join again in time, and the rebalance went on without it {at(gone.at)}", members
            )
        elif gone.cause == EXPIRED and _open_later(case, gone) and not _steered(case):
            session = f"its session ({person.session_ms} ms)" if person.session_ms else "its session"
            said = f"{person.name} sent no heartbeat and {session} expired {at(gone.at)}, but its connection was open"
            yield Likely(f"{said}: a call blocked its thread or event loop", members)


def _open_later(case: Case, gone: Gone) -> bool:
    """Return whether the member's connection was open for a while after its removal, unlike after `close()`."""
    return (case.now if gone.closed is None else gone.closed) - gone.at >= SOON


def _came_back(case: Case, gone: Gone) -> Person | None:
    """Return the later member that used the same connection, or None."""
    connection = gone.person.connection
    later = (person for person, _ in case.everybody if person.came > gone.at and person.connection == connection)
    return next(later, None) if connection is not None else None


def _afterwards(case: Case, gone: Gone) -> str:
    """Say what the client of a former member did later: it joined again by the same connection, or a request of the old member was
    refused."""
    back = _came_back(case, gone)
    if back is not None:
        return f" and joined again {at(back.came)} as {back.name}"
    for refused in case.refusals(*OF_MEMBERS):
        if refused.member == gone.person.member_id and refused.at >= gone.at:
            return f"; its {refused.api} {at(refused.at)} was refused ({refused.error})"
    return ""


def _steered(case: Case) -> bool:
    """Return whether fault rules or commands may have kept the requests of members from the group."""
    return bool(case.tale.tally.faults or case.tale.tally.orders)


def closed_without_leaving(case: Case) -> Iterator[Likely]:
    """A member's connection was ended by its client, the member has not left, and its session still runs or expired later."""
    for gone in case.evidence.gone.values():
        ended = case.evidence.hung_up.get(gone.person.member_id)
        if ended is not None and gone.closed == ended and gone.cause == EXPIRED and not gone.ordered and gone.owned:
            yield _unread(gone.person, ended, gone.owned, "", f"expired {at(gone.at)}")
    others = any(each.closed is None for each in case.here)
    for person in case.here:
        ended = case.evidence.hung_up.get(person.member_id)
        owned = case.assigned_to(person.member_id)
        if ended is None or person.closed != ended or case.now - ended < SOON or not owned:
            continue
        if person.instance is None or others:  # A static member does not leave when it is closed, because it is to come back.
            yield _unread(person, ended, owned, "s", "expires")


def _unread(person: Person, ended: int, owned: Partitions, tense: str, until: str) -> Likely:
    session = f"its session ({person.session_ms} ms)" if person.session_ms else "its session"
    if any(map(is_task, owned)):
        how, what = "and it had not left", f"nobody {'processes' if tense else 'processed'}"
    else:
        how, what = "without LeaveGroup", f"nobody read{tense}"
    said = f"{person.name}'s connection ended {at(ended)} {how}: {what} {partitions_text(owned)} until {session} {until}"
    return Likely(said, frozenset((person.member_id,)))
