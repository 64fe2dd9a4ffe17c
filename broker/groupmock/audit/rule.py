"""A rule says what it asks of a client, and has methods that judge one request with its answer at a time.

A rule is a class in a file of its own in `rules/`. Its hooks are methods marked with `asked(KEY, ...)`, `answered(KEY, ...)`,
`calm(HEARTBEAT)` or `closed`, or with `asked_again`, `answered_again` or `refused` if they have something to do only after a refusal. They
are called in the journal's order, *before* the exchange changes the model of group and member, so that a hook sees the state that the
client was in. A hook yields `KEPT` each time that the client did what the rule asks, a `Broken` each time that it did not,
`NotJudged(reason)` if the rule applies but a wrong client would not have been seen as wrong, and nothing if the rule does not apply. A rule
keeps its memory in the `notes` of the link, member or group that it judges.

A rule uses `self.later(...)` to look again when time has passed, because a client that does nothing sends no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from . import rules as folder
from .judgement import KEPT, UNREAD, Broken, Judgements, Kept, NotJudged
from .order import GRACE_NS

if TYPE_CHECKING:
    from .known_world import World
    from .subjects import Exchange, Link, Subject

ERROR: Final = "error"
WARNING: Final = "warning"
ALWAYS: Final = "always"
NOTED: Final = "noted"
REFUSED: Final = "refused"
"""A method of a rule is called for every request or answer of its APIs, or only while the rule remembers something, or only for refusals.
Nearly all rows concern nothing that a rule waits for, so this saves most calls."""


H = TypeVar("H", bound=Callable[[Any, Any], Judgements])


def asked(*keys: int) -> Callable[[H], H]:
    """Mark a method of a rule that looks at requests of these APIs when they arrive."""
    return lambda hook: _hooked(hook, "asked", keys)


def answered(*keys: int) -> Callable[[H], H]:
    """Mark a method of a rule that looks at requests of these APIs when they are answered (`x.answer`, perhaps not delivered) or
    abandoned."""
    return lambda hook: _hooked(hook, "answered", keys)


def asked_again(*keys: int) -> Callable[[H], H]:
    """Mark a method of a rule that looks at requests of these APIs only while the rule remembers something about the connection or the
    member (in their `notes`)."""
    return lambda hook: _hooked(hook, "asked", keys, NOTED)


def answered_again(*keys: int) -> Callable[[H], H]:
    """Mark a method of a rule that looks at answers of these APIs if they have an error or did not arrive, and at others only while the
    rule remembers something about the connection or the member (in their `notes`)."""
    return lambda hook: _hooked(hook, "answered", keys, NOTED)


def refused(*keys: int) -> Callable[[H], H]:
    """Mark a method of a rule that looks only at answers of these APIs that have an error or did not arrive."""
    return lambda hook: _hooked(hook, "answered", keys, REFUSED)


def calm(*keys: int) -> Callable[[H], H]:
    """Mark a method of a rule that looks at a heartbeat when it is repeated for the first time, after a pause of at most a third of the
    session timeout. Further repetitions are not shown (`known_world`), so the hook judges all of them here."""
    return lambda hook: _hooked(hook, "calm", keys)


def closed(hook: H) -> H:
    """Mark a method of a rule that looks at a connection that has ended, before its members are forgotten."""
    return _hooked(hook, "closed", (0,))


def _hooked(hook: H, moment: str, keys: tuple[int, ...], when: str = ALWAYS) -> H:
    hook.looks_at = (*getattr(hook, "looks_at", ()), *((moment, key, when) for key in keys))  # type: ignore[attr-defined]  # a mark on a function
    return hook


class Rule:
    """The base class of rules. Texts are whole sentences in Markdown. `source` names pages of docs/kafka (`clients.md#client-05`), KIPs and
    classes. `implies` has codes of rules that are broken with this one, because one mistake shows in both. `kept` and `broken` are examples
    of clients that keep and break the rule, in the language of exchanges (docs/reference/exchanges.md); `also_kept` and `also_broken` have
    further ones by name. `settings` are those of their broker."""

    code: ClassVar[str]
    title: ClassVar[str]
    severity: ClassVar[str] = ERROR
    what: ClassVar[str]
    why: ClassVar[str]
    source: ClassVar[tuple[str, ...]]
    fix: ClassVar[str]
    implies: ClassVar[tuple[str, ...]] = ()
    kept: ClassVar[str]
    broken: ClassVar[str]
    also_kept: ClassVar[dict[str, str]] = {}
    also_broken: ClassVar[dict[str, str]] = {}
    settings: ClassVar[dict[str, str]] = {}

    def __init__(self, world: World) -> None:
        self.world = world

    @classmethod
    def examples(cls) -> dict[str, str]:
        """Return the texts of the examples by name; names begin with `kept` or `broken`."""
        further = {"kept": cls.also_kept, "broken": cls.also_broken}
        return {"kept": cls.kept, "broken": cls.broken} | {
            f"{verdict}-{name}": text for verdict, texts in further.items() for name, text in texts.items()
        }

    @classmethod
    def hooks(cls) -> Iterator[tuple[str, int, str, str]]:
        """Yield the moment and API key of each marked method, when it is called (ALWAYS, NOTED or REFUSED), and its name."""
        for name in dir(cls):
            for moment, key, when in getattr(getattr(cls, name), "looks_at", ()):
                yield moment, key, when, name

    @classmethod
    def observes(cls) -> tuple[int, ...]:
        """Return the keys of the APIs at which the rule's methods look."""
        return tuple(sorted({key for moment, key, *_ in cls.hooks() if moment != "closed"}))

    def later(self, at: int, about: Subject, look: Callable[[], Judgements]) -> Callable[[], None]:
        """Call `look` when the journal's time has passed `at` (ns), unless the connection, group or member is gone by then. Returns the
        function that cancels this."""
        return self.world.agenda.add(at, about, self.code, look)

    def knew(self, x: Exchange, told: Exchange) -> bool:
        """Return whether the client had certainly read the answer `told` when it sent the request `x` (`order`). A client is not blamed if
        this is uncertain."""
        if not told.heard or told.written is None:
            return False
        if x.received - told.written - (x.stalled - told.stalled_when_written) >= GRACE_NS:
            return True
        return x.link is told.link and x.link.order.knew(x, told, not x.link.open and self.world.processes.one_thread(x.link))

    def right(self, x: Exchange, told: Exchange) -> Kept | NotJudged:
        """Return the judgement of a request that minds the answer `told`. A wrong request in its place would have been found only if the
        client had certainly read that answer."""
        return KEPT if self.knew(x, told) else UNREAD

    def sent_later(self, x: Exchange, before: Exchange) -> bool:
        """Return whether the client certainly sent the request `x` after the request `before`."""
        return x.link is before.link or x.received - before.received - (x.stalled - before.stalled) >= GRACE_NS


@cache
def registered() -> dict[str, type[Rule]]:
    """Return the rules by code, in order; each file of `rules/` has one rule."""
    found: dict[str, type[Rule]] = {}
    for module in iter_modules(folder.__path__):
        loaded = import_module(f"{folder.__name__}.{module.name}")
        for each in vars(loaded).values():
            if isinstance(each, type) and issubclass(each, Rule) and each.__module__ == loaded.__name__:
                if each.code in found:
                    raise TypeError(f"two rules are called {each.code}: {found[each.code].__module__} and {loaded.__name__}")
                found[each.code] = each
    return dict(sorted(found.items()))


__all__ = [
    "ERROR", "KEPT", "WARNING", "Broken", "Judgements", "Kept", "Link", "NotJudged", "Rule", "answered", "answered_again", "asked",
    "asked_again", "calm", "closed", "refused", "registered",
]  # fmt: skip
