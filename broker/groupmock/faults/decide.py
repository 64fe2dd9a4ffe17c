"""Checks with pure functions which conditions of fault rules hold for a call, and names the actual values. `nth`, `every` and `probability`
count only the calls for which all other conditions hold. (`RuleRegistry.decide` evaluates them, rule by rule.)

Conditions on API and version have one result for all calls of an API's version, and are evaluated once (`ready`). Only the other conditions
are evaluated for each call, and they read as little of its messages as they need (`facts.Facts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from groupmock_codec.units import NS_PER_S

from .entities import Entity
from .facts import NONE_IF_UNTOLD, OF_ENTITIES, Facts, tells
from .plan import ABOUT, MAX_RULES, When, id_text, texts, topic_id_of, version_ranges

if TYPE_CHECKING:
    from .kind import Fault, FaultDice
    from .plan import Rule

# A float has 53 bits, so below this limit a probability times CHANCES loses nothing.
CHANCES: Final = 1 << 53
SHOWN: Final = 20
"""The report on a rule that nearly fired names at most this many partitions or resources of the call."""
COUNTS: Final = ("nth", "every", "probability")
"""The counting conditions, which are checked only if all others hold."""


class Tally(msgspec.Struct, frozen=True):
    """The number of calls that a fault rule has matched, and of those at which it has fired. `matched` counts the calls for which all
    conditions except the counting ones held, `fired` the calls at which the rule fired."""

    matched: int = 0
    fired: int = 0


class Armed(NamedTuple):
    """A registered fault rule with the fault that it applies."""

    rule: Rule
    fault: Fault


class FailedCondition(msgspec.Struct, frozen=True):
    """A condition that did not hold, with the wanted and the actual value."""

    condition: str
    wanted: Any
    was: Any

    def __str__(self) -> str:
        return f"{self.condition} is {_words(self.was)}, wanted {_words(self.wanted)}"


class Condition(msgspec.Struct, frozen=True):
    """A condition of a rule, with the function `holds` that checks a call."""

    condition: str
    wanted: Any
    holds: Callable[[Facts], bool]


class ReadyRule(NamedTuple):
    """A rule prepared for the calls of one API version. `conditions` are in the order of `plan.ABOUT`, `lacking` is how many of them no
    such call can meet."""

    armed: Armed
    conditions: tuple[Condition | FailedCondition, ...]
    lacking: int

    def failures(self, facts: Facts, most: int | None) -> list[FailedCondition] | None:
        """Return the conditions that do not hold for this call, or None if they are more than `most`."""
        found, left = [], None if most is None else most - self.lacking
        for each in self.conditions:
            if isinstance(each, FailedCondition):
                found.append(each)
            elif not each.holds(facts):
                if left is not None:
                    if not left:
                        return None
                    left -= 1
                found.append(FailedCondition(each.condition, each.wanted, WAS[each.condition](facts)))
        # One topic, group or partition of the request must meet all conditions, so that partition 1 of `orders` is not found in another
        # topic.
        when = self.armed.rule.when
        said = [] if found else [name for name in OF_ENTITIES if getattr(when, name) is not None]
        if said and not any(picks(when, entity) for entity in facts.entities.all):
            found.append(FailedCondition(said[0], getattr(when, said[0]), WAS[said[0]](facts)))
        return found


def ready(armed: Armed, api: str, version: int) -> ReadyRule:
    """Prepare a rule for the calls of one API version, by checking the conditions whose result is the same for all of them."""
    rule, conditions = armed.rule, list[Condition | FailedCondition]()
    call = Facts(str(rule.stage), 0, 0, 0, api, version)
    for name, test in TESTS.items():
        wanted = getattr(rule.when, name)
        if wanted is None:
            continue
        if name in NONE_IF_UNTOLD and not tells(api, version, name, call.stage):
            conditions.append(FailedCondition(name, wanted, None))
        elif name in OF_HEADER and not test(wanted)(call):
            conditions.append(FailedCondition(name, wanted, WAS[name](call)))
        elif name not in OF_HEADER:
            conditions.append(Condition(name, wanted, test(wanted)))
    return ReadyRule(armed, tuple(conditions), sum(isinstance(each, FailedCondition) for each in conditions))


def picks(when: When, entity: Entity) -> bool:
    """True if the rule's conditions on groups, topics, partitions, resources and members select this one. Conditions on what the entity
    does not have are ignored."""
    return (
        (when.group is None or entity.group is None or fits(when.group, [entity.group]))
        and (when.topic is None or fits(when.topic, [entity.topic]))
        and (when.topic_id is None or _has_id(when.topic_id, entity))
        and (when.partition is None or _number(when.partition, entity.partition))
        and (when.resource is None or fits(when.resource, _resource(entity)))
        and (when.transactional_id is None or entity.transaction is None or fits(when.transactional_id, [entity.transaction]))
        and (entity.member is None or when.member_id is None or fits(when.member_id, [entity.member[0]]))
        and (entity.member is None or when.instance_id is None or fits(when.instance_id, [entity.member[1]]))
    )


def _has_id(wanted: str | list[str], entity: Entity) -> bool:
    if entity.topic_id is None:
        return False
    return any(entity.topic_id == (found := topic_id_of(each)) or (found is None and entity.topic is None) for each in texts(wanted))


def _resource(entity: Entity) -> list[str]:
    return [entity.resource[1], entity.shown("resource")] if entity.resource is not None else []


def uncounted(when: When, call: int, dice: FaultDice) -> list[FailedCondition]:
    """Return the counting conditions (nth, every, probability) that do not hold for the matching call with this number. The random
    source is only used if everything else holds."""
    if when.nth is not None and call != when.nth:
        return [FailedCondition("nth", when.nth, call)]
    if when.every is not None and call % when.every:
        return [FailedCondition("every", when.every, call)]
    if when.probability is not None and dice.below(CHANCES) >= when.probability * CHANCES:
        return [FailedCondition("probability", when.probability, "not drawn")]
    return []


def fits(wanted: str | list[str], found: Sequence[str | None]) -> bool:
    """True if one of the texts matches one of the patterns, in which `*` matches any text."""
    match = _match(wanted)
    return any(text is not None and match(text) for text in found)


def _match(wanted: str | list[str]) -> Callable[[str], object]:
    # `fnmatch` is not used, because it folds case on some systems, and names of groups, topics and members are case-sensitive.
    return _compiled(tuple(texts(wanted)))


@lru_cache(maxsize=4 * MAX_RULES)
def _compiled(patterns: tuple[str, ...]) -> Callable[[str], object]:
    # An empty list of patterns matches nothing.
    return re.compile("|".join(map(translate, patterns)) or "(?!)").match


def _number(wanted: int | list[int], found: int | None) -> bool:
    return found is not None and found in (wanted if isinstance(wanted, list) else [wanted])


Holds = Callable[[Any], bool]


def _text(name: str) -> Callable[[Any], Holds]:
    """Make the test of a condition on a single text of the call."""

    def test(wanted: Any) -> Holds:
        match = _match(wanted)
        return lambda facts: (text := getattr(facts, name)) is not None and match(text) is not None

    return test


def _texts(name: str) -> Callable[[Any], Holds]:
    """Make the test of a condition on several texts of the call, one of which has to match."""

    def test(wanted: Any) -> Holds:
        match = _match(wanted)
        return lambda facts: any(map(match, getattr(facts, name)))

    return test


def _numbers(name: str) -> Callable[[Any], Holds]:
    """Make the test of a condition on several numbers of the call, one of which has to be a wanted number."""

    def test(wanted: Any) -> Holds:
        numbers = frozenset(wanted if isinstance(wanted, list) else [wanted])
        return lambda facts: not numbers.isdisjoint(getattr(facts, name))

    return test


def _within(wanted: int | list[int], ranges: Sequence[tuple[int, int]]) -> bool:
    numbers = wanted if isinstance(wanted, list) else [wanted]
    return any(first <= number <= last for first, last in ranges for number in numbers)


def _is(name: str) -> Callable[[Any], Holds]:
    """Make the test of a condition on a value of the call, which has to equal the wanted value or one of several wanted values."""
    return lambda wanted: lambda facts: getattr(facts, name) in (wanted if isinstance(wanted, list) else (wanted,))


TESTS: Final[dict[str, Callable[[Any], Holds]]] = {
    "api": _text("api"),
    "version": lambda wanted: lambda facts: any(low <= facts.version <= high for low, high in version_ranges(wanted)),
    "group": _texts("groups"),
    "member_id": _texts("member_ids"),
    "instance_id": _texts("instance_ids"),
    "client_id": _text("client_id"),
    "generation": _is("generation"),
    "member_epoch": _numbers("member_epochs"),
    "state": _text("state"),
    "role": _is("role"),
    "progress": _text("progress"),
    "topic": lambda wanted: lambda facts: fits(wanted, facts.topics) or fits(wanted, _said(facts, "topic")),
    "topic_id": lambda wanted: lambda facts: any(_has_id(wanted, each) for each in facts.entities.all),
    "partition": lambda wanted: lambda facts: any(_number(wanted, each.partition) for each in facts.entities.all),
    "resource": lambda wanted: lambda facts: any(fits(wanted, _resource(each)) for each in facts.entities.all),
    "transactional_id": _texts("transactional_ids"),
    "producer_epoch": _numbers("producer_epochs"),
    "transaction_state": _text("transaction_state"),
    "committed": _is("committed"),
    "acknowledgement": _texts("acknowledgements"),
    "record": lambda wanted: lambda facts: _within(wanted, facts.records),
    "delivery": _numbers("deliveries"),
    "listener": _text("listener"),
    "principal": _text("principal"),
    "authenticated": _is("authenticated"),
    "node": _is("node"),
    "window": lambda wanted: lambda facts: wanted[0] * NS_PER_S <= facts.now < wanted[1] * NS_PER_S,
}
"""For each condition, in the order of `plan.ABOUT`, a function that makes the test for a wanted value."""
OF_HEADER: Final = ("api", "version")
"""Conditions whose result is the same for all calls of an API version."""

WAS: Final[dict[str, Callable[[Facts], Any]]] = {
    "group": attrgetter("groups"),
    "member_id": attrgetter("member_ids"),
    "instance_id": attrgetter("instance_ids"),
    "member_epoch": attrgetter("member_epochs"),
    "topic": lambda facts: facts.topics or _said(facts, "topic"),
    "topic_id": lambda facts: [id_text(each) for each in _said(facts, "topic_id")],
    "partition": lambda facts: [each.shown("partition") for each in facts.entities.all[:SHOWN] if each.partition is not None],
    "resource": lambda facts: [each.shown("resource") for each in facts.entities.all[:SHOWN] if each.resource is not None],
    "transactional_id": attrgetter("transactional_ids"),
    "acknowledgement": attrgetter("acknowledgements"),
    "record": lambda facts: [f"{first}-{last}" for first, last in facts.records[:SHOWN]],
    "delivery": attrgetter("deliveries"),
    "producer_epoch": attrgetter("producer_epochs"),
    "window": lambda facts: facts.now / NS_PER_S,
}
WAS.update((name, attrgetter(name)) for name in TESTS.keys() - WAS.keys())
assert {*TESTS, *COUNTS, "after"} == set(ABOUT) == set(When.__struct_fields__)


def _said(facts: Facts, field: str) -> list[Any]:
    """Return the values that a field has in the groups, topics, partitions and the like that a call names, each value once."""
    return list(dict.fromkeys(value for each in facts.entities.all if (value := getattr(each, field)) is not None))


def _words(value: object) -> str:
    if value is None or value in ([], ()):
        return "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return f"{value:.3f}" if isinstance(value, float) else str(value)
