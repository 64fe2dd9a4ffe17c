"""What was wrong about a request that was refused: the error's name is Kafka's, the rest is what the group was at that moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..journal.whose import field
from .words import listed, seconds, text

if TYPE_CHECKING:
    from .tale import Tale


def why(tale: Tale, error: str, asked: Any) -> str:
    """In brackets, "" where nothing more is known. `asked`: the request's message."""
    tell = WHY.get(error)
    known = tell(tale, asked) if tell is not None else ""
    return f" ({known})" if known else ""


def epoch_of(asked: Any) -> int | None:
    """The generation that a request names."""
    found = field(asked, "generation_id")
    found = field(asked, "generation_id_or_member_epoch") if found is None else found
    return found if isinstance(found, int) else None


def member_of(asked: Any) -> str:
    """The member id that a request names: its own, or that of its first member (LeaveGroup from version 3 on, KIP-345)."""
    found = field(asked, "member_id")
    members = field(asked, "members")
    if not found and isinstance(members, list) and members:
        found = field(members[0], "member_id")
    return found if isinstance(found, str) else ""


def _generation(tale: Tale, asked: Any) -> str:
    said = epoch_of(asked)
    return f"it says generation {said}, it is {tale.generation}" if said is not None else f"it is generation {tale.generation}"


def _unknown(tale: Tale, asked: Any) -> str:
    member_id = member_of(asked)
    if member_id in tale.people.gone:
        at, how, _ = tale.people.gone[member_id]
        return f"no member since {seconds(at)}: {how}"
    if not member_id:
        return f"it names no member id, and the group has members: {tale.here}" if tale.people.here else "it names no member id"
    if epoch_of(asked) == -1 and not tale.people.here:
        return "the group has no members"
    return f"no such member; there are: {tale.here}"


def _fenced(tale: Tale, asked: Any) -> str:
    instance = field(asked, "group_instance_id")
    owner = next((each for each in tale.people.here.values() if each.instance == instance and instance is not None), None)
    return f"static id {text(instance)} is {owner.name}'s now" if owner is not None else ""


def _rebalances(tale: Tale, asked: Any) -> str:
    return f"the group is {tale.state} since {seconds(tale.since)}"


def _protocols(tale: Tale, asked: Any) -> str:
    offers = [str(field(each, "name")) for each in field(asked, "protocols") or ()]
    there = tale.people.offered(member_of(asked))
    return (
        f"it offers {listed(list(map(text, offers))) or 'nothing'}; all others have {listed(list(map(text, there))) or 'nothing in common'}"
    )


def _session(tale: Tale, asked: Any) -> str:
    return f"session.timeout.ms {field(asked, 'session_timeout_ms')} is outside of what the broker allows"


def _full(tale: Tale, asked: Any) -> str:
    return f"group.max.size is reached, {len(tale.people.here)} are in it"


WHY: Final[dict[str, Callable[[Tale, Any], str]]] = {
    "ILLEGAL_GENERATION": _generation,
    "UNKNOWN_MEMBER_ID": _unknown,
    "FENCED_INSTANCE_ID": _fenced,
    "REBALANCE_IN_PROGRESS": _rebalances,
    "INCONSISTENT_GROUP_PROTOCOL": _protocols,
    "INVALID_SESSION_TIMEOUT": _session,
    "GROUP_MAX_SIZE_REACHED": _full,
}
