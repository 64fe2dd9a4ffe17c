"""Explain why a request was refused, by Kafka's name of the error and the state of the group at that moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..journal.whose import field
from .asked import PARKED, Asked, GroupNow
from .words import listed, seconds, text

NOT_AUTHORIZED: Final = "_AUTHORIZATION_FAILED"


def why(group: GroupNow, error: str, asked: Asked) -> str:
    """Return the reason of a refusal in brackets, or "" if only the error is known."""
    if asked.rule is not None and error == asked.made:
        return f" (fault rule {text(asked.rule)} made it)"
    if asked.denied and error.endswith(NOT_AUTHORIZED):
        return f" ({listed(asked.denied)})"
    tell = WHY.get(error)
    known = tell(group, asked) if tell is not None else ""
    return f" ({known})" if known else ""


def epoch_of(asked: Any) -> int | None:
    """Return the generation that a request names."""
    found = field(asked, "generation_id")
    found = field(asked, "generation_id_or_member_epoch") if found is None else found
    return found if isinstance(found, int) else None


def member_of(asked: Any) -> str:
    """Return the member id that a request names, in the request itself or in its first member (LeaveGroup from version 3 on, KIP-345)."""
    found = field(asked, "member_id")
    members = field(asked, "members")
    if not found and isinstance(members, list) and members:
        found = field(members[0], "member_id")
    return found if isinstance(found, str) else ""


def _generation(group: GroupNow, asked: Asked) -> str:
    said, now = epoch_of(asked.message), group.generation if asked.api in PARKED else asked.generation
    return f"it says generation {said}, it is {now}" if said is not None else f"it is generation {now}"


def _unknown(group: GroupNow, asked: Asked) -> str:
    member_id = member_of(asked.message)
    if member_id in group.people.gone:
        at, how, _ = group.people.gone[member_id]
        return f"no member since {seconds(at)}: {how}"
    if not member_id:
        return f"it names no member id, and the group has members: {group.here}" if group.people.here else "it names no member id"
    if epoch_of(asked.message) == -1 and not group.people.here:
        return "the group has no members"
    return f"no such member; there are: {group.here}"


def _fenced(group: GroupNow, asked: Asked) -> str:
    instance = field(asked.message, "group_instance_id")
    owner = next((each for each in group.people.here.values() if each.instance == instance and instance is not None), None)
    return f"static id {text(instance)} is {owner.name}'s now" if owner is not None else ""


def _rebalances(group: GroupNow, asked: Asked) -> str:
    state, since = (group.state, group.since) if asked.api in PARKED else (asked.state, asked.since)
    return f"the group is {state} since {seconds(since)}"


def _protocols(group: GroupNow, asked: Asked) -> str:
    offers = [str(field(each, "name")) for each in field(asked.message, "protocols") or ()]
    there = group.people.offered(member_of(asked.message))
    return (
        f"it offers {listed(list(map(text, offers))) or 'nothing'}; all others have {listed(list(map(text, there))) or 'nothing in common'}"
    )


def _session(group: GroupNow, asked: Asked) -> str:
    return f"session.timeout.ms {field(asked.message, 'session_timeout_ms')} is outside of what the broker allows"


def _full(group: GroupNow, asked: Asked) -> str:
    return f"group.max.size is reached, {len(group.people.here)} are in it"


WHY: Final[dict[str, Callable[[GroupNow, Asked], str]]] = {
    "ILLEGAL_GENERATION": _generation,
    "UNKNOWN_MEMBER_ID": _unknown,
    "FENCED_INSTANCE_ID": _fenced,
    "REBALANCE_IN_PROGRESS": _rebalances,
    "INCONSISTENT_GROUP_PROTOCOL": _protocols,
    "INVALID_SESSION_TIMEOUT": _session,
    "GROUP_MAX_SIZE_REACHED": _full,
}
