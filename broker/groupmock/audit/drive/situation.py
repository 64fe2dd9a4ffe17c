"""A situation has a name, a sentence that describes what happens to the client, and a script that makes it happen and waits for the events
that show it.

A situation is declared by `@situation(...)` over its script, in a file of `situations/`. The frame is the same for all (`conduct`): a fresh
cluster, the copies, a group that is Stable and commits; then the script; then the group must be Stable and commit again; then the copies
are asked to stop. A script waits for rows, through the methods of its `Stage`; an event that does not come within the bound that the user
gave makes the situation "not reached", with the sentence of what was waited for. Nothing is judged here: the rules read the journal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from .situation_stage import Stage

IN_TIME: Final = ("CLIENT-06", "CLIENT-13", "CLIENT-16", "CLIENT-17", "CLIENT-23")
"""Rules about deadlines, which cannot be judged for a copy that is stopped (SIGSTOP) or whose broker receives nothing."""
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
PROTOCOL_OF: Final = {
    **dict.fromkeys(("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"), CLASSIC),
    "ConsumerGroupHeartbeat": CONSUMER,
}
"""Maps an API to its protocol; APIs that are not listed belong to both protocols."""
Script = Callable[["Stage"], Awaitable[None]]


class NotReached(Exception):
    """Raised if an awaited event did not happen; the text names the event. The client cannot be judged in such a situation."""


class Situation(NamedTuple):
    """A situation into which copies of the program are brought. `does` is a sentence that describes what happens, `waits` a sentence that
    names what must be seen.

    `rules`: fault rules from before the copies start; `nodes`: brokers of the cluster; `static`: the copies have a group.instance.id each;
    `late`: so many copies are held back, the script starts them; `bare`: the topic is not there, the script creates it, and the group
    stands only then; `comes_back`: the group must be Stable and commit again when the script is over; `settings`: the broker's, Kafka's
    names; `excuses`: rules that anybody breaks who is treated so from outside (a process stopped for long): they are not judged;
    `protocol`: of the members that can be in it, CLASSIC or CONSUMER (KIP-848), "" of either.
    """

    name: str
    does: str
    waits: str
    script: Script
    rules: tuple[Mapping[str, Any], ...] = ()
    nodes: int = 3
    static: bool = False
    late: int = 0
    bare: bool = False
    comes_back: bool = True
    settings: Mapping[str, str] = {}
    excuses: tuple[str, ...] = ()
    protocol: str = ""


_FOUND: Final[dict[str, Situation]] = {}


def declare(found: Situation) -> Situation:
    """Add the situation to the table. Raises TypeError if the name exists already."""
    if found.name in _FOUND:
        raise TypeError(f"two situations are called {found.name}")
    _FOUND[found.name] = found
    return found


def situation(name: str, does: str, waits: str, **more: Any) -> Callable[[Script], Script]:
    """Return a decorator that declares a script as the situation with that name."""

    def register(script: Script) -> Script:
        declare(Situation(name, does, waits, script, **more))
        return script

    return register


def situations() -> dict[str, Situation]:
    """Return all situations by name, in the order of their files and declarations. `works` is first, because all others need it."""
    from . import situations as folder

    for module in iter_modules(folder.__path__):
        import_module(f"{folder.__name__}.{module.name}")
    return {name: _FOUND[name] for name in sorted(_FOUND, key=lambda name: name != "works")}


def rule(api: str, kind: str, name: str = "", stage: str | None = None, times: int | None = None, **more: Any) -> dict[str, Any]:
    """Return a fault rule as data. Each extra argument is recognized by its name as a condition of `when` or an argument of `do`."""
    from ...faults.plan import ABOUT

    when = {key: value for key, value in more.items() if key in ABOUT}
    do = {key: value for key, value in more.items() if key not in ABOUT}
    made: dict[str, Any] = {"name": name or f"{kind} {api}", "when": {"api": api, **when}, "do": {"kind": kind, **do}}
    return made | ({} if stage is None else {"stage": stage}) | ({} if times is None else {"times": times})
