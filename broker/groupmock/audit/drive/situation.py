"""A situation has a name, a description of what happens to the client, and a script that makes it happen and waits until the journal shows
it.

A situation is declared by `@situation(...)` on its script, in a file of `situations/`. Every situation has the same frame (`conduct`): a
fresh cluster and the copies are started, and the group becomes Stable and commits. Then the script runs, the group must become Stable and
commit again, and the copies are asked to stop. A script waits for rows through the methods of its `Stage`. If an event does not come within
the user's bound, the situation is "not reached", and a sentence says what was waited for. Nothing is judged here, because the rules read
the journal.
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
    """A situation into which a conformance run brings copies of the judged client program. `does` is a sentence that describes what
    happens, `waits` a sentence that names what must be seen.

    `rules` are the fault rules from before the copies start, and `nodes` is the number of brokers. `static` gives each copy a
    group.instance.id. `late` copies are held back until the script starts them. With `bare` the script creates the topic, and the group
    becomes Stable only then. With `comes_back` the group must be Stable and commit again after the script. `settings` are the broker's, by
    Kafka's names. `excuses` are rules that are not judged, because every client breaks them if it is treated like this (stopped for a long
    time). `protocol` is that of the members for which the situation is possible: CLASSIC, CONSUMER (KIP-848) or "" for both.
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
    """Add a situation to the table of all situations. Raises TypeError if the name exists already."""
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
