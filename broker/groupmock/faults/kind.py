"""The base class of all kinds of faults. A kind is a class in a file of `kinds/`; its fields are those of `do`, and one method turns a call
into an action.

The files of `kinds/` are the registry, from which `kind_of({"kind": "drop"})`, the docs and the checks of plans are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol

import msgspec

from ..text.suggest import hint
from . import kinds
from .decide import FailedCondition
from .facts import tells
from .plan import BadPlan

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .actions import Action
    from .entities import Entity
    from .facts import Facts, Lookup
    from .plan import Plan, When


NAMED: Final = 20
"""The journal row of a fault names at most this many affected groups, topics or other entities."""


class FaultDice(Protocol):
    """The random source of faults, which is seeded apart from the core's, so that a rule changes no member id."""

    def below(self, limit: int, /) -> int:
        """Return a number in [0, limit)."""


class Struck(NamedTuple):
    """The groups, topics or other entities of one call that a rule affects, with the kind that the rule selects."""

    kind: str
    entities: tuple[Entity, ...]

    @property
    def names(self) -> list[str]:
        """Return the names of some affected groups, topics or other entities, for the journal row of the fault."""
        names = list(dict.fromkeys(each.shown(self.kind) for each in self.entities))
        return names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"]


class Target(NamedTuple):
    """The call to which a fault is applied. `request` is None at stage connect, and `response` is None before stage reply. `struck` has the
    affected entities, or None for the call as a whole."""

    facts: Facts
    request: Message | None
    response: Message | None
    dice: FaultDice
    struck: Struck | None
    lookup: Lookup


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """The base class of every kind of fault. `STAGES` has the stages at which it can fire, the usual one first. `ALTERS`: it only changes
    the message, whose bytes are encoded as usual. `CAUSES`: it changes the cluster, and the call itself goes on. `NEEDS` has conditions
    whose fields the request must have. `DECIDES`: later rules do not see the entities that it affects. `MISSED` describes the wanted
    entity, for a call that has no such entity. `SECURED`: it is about authentication or rights, which a cluster has only if asked."""

    STAGES: ClassVar[tuple[str, ...]] = ("reply",)
    ALTERS: ClassVar[bool] = False
    CAUSES: ClassVar[bool] = False
    NEEDS: ClassVar[tuple[str, ...]] = ()
    DECIDES: ClassVar[bool] = True
    SECURED: ClassVar[bool] = False
    MISSED: ClassVar[str] = "one that no rule before this one has taken"

    def needs(self) -> tuple[str, ...]:
        """Return those conditions of NEEDS that a rule must have, given the values of the fault's fields."""
        return self.NEEDS

    def goes_on(self, stage: str) -> bool:
        """Return whether a call at which this fault fires is also passed to later rules."""
        # If a fault makes the answer before the core gets the request (stage `request`), no request is left for later rules.
        return self.CAUSES or (self.ALTERS and stage == "reply")

    def struck(self, when: When, facts: Facts) -> Struck | None:
        """Return the affected groups, topics or other entities of the call, or None for a fault that affects whole calls."""
        return None

    def lacks(self, facts: Facts) -> FailedCondition | None:
        """Return what a call lacks to which the fault cannot be applied, so that the call does not count, or None."""
        return None

    def cannot(self, stage: str, api: str, version: int, when: When) -> str | None:
        """Return why this API version cannot express the fault, or None if it can. This is not called for stage connect."""
        lacking = next((need for need in self.needs() if not tells(api, version, need)), None)
        return None if lacking is None else f"it names no {lacking.replace('_', ' ')}: say which api"

    def act(self, target: Target) -> Action:
        """Return what the fault does to this call."""
        raise NotImplementedError


@cache
def all_kinds() -> dict[str, type[Fault]]:
    """Return every kind by its name in `do`, sorted by name."""
    by_name: dict[str, type[Fault]] = {}
    for module in iter_modules(kinds.__path__):
        if not module.name.startswith("_"):
            kind: type[Fault] = import_module(f"{kinds.__name__}.{module.name}").KIND
            by_name[str(kind.__struct_config__.tag)] = kind
    return dict(sorted(by_name.items()))


def kind_of(do: Mapping[str, Any], origin: str = "do") -> Fault:
    """Return the fault that a rule's `do` describes. Raises BadPlan."""
    known = all_kinds()
    name = do.get("kind")
    if not isinstance(name, str) or name not in known:
        raise BadPlan(f"{origin}, do: no kind {name!r}{hint(str(name), known)}: there are {', '.join(known)}")
    kind = known[name]
    for key in do:
        if key != "kind" and key not in kind.__struct_fields__:
            takes = ", ".join(kind.__struct_fields__) or "nothing else"
            raise BadPlan(f"{origin}, do: {name} has no {key!r}: it takes {takes}")
    try:
        return msgspec.convert(dict(do), kind)
    except msgspec.ValidationError as wrong:
        what, _, where = str(wrong).partition(" - at `$.")
        place = f"{where.strip('`')}: " if where else ""
        raise BadPlan(f"{origin}, do: {name}: {place}{what[:1].lower() + what[1:]}") from None


def for_secured(plan: Plan) -> bool:
    """Return whether a rule of the fault plan is about authentication or rights."""
    return any(kind_of(rule.do).SECURED for rule in plan.rule)
