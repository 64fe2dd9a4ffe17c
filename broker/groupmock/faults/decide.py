"""The pure decision which rules fire at a call, and which conditions kept the others from firing.

Rules are checked in the order of their registration. A rule that fires ends the search, unless its kind lets the call go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from groupmock_codec.units import NS_PER_S

from .entities import Entity
from .facts import OF_ENTITIES
from .plan import ABOUT, When, id_text, texts, topic_id_of, version_ranges

if TYPE_CHECKING:
    from .facts import Facts
    from .kind import Fault, FaultDice, Struck
    from .plan import Rule

# A float has 53 bits: below this limit a probability times CHANCES loses nothing.
CHANCES: Final = 1 << 53
SHOWN: Final = 20
"""The number of entities of a call that a near miss lists."""
COUNTS: Final = ("nth", "every", "probability")
"""The counting conditions, which are checked when all others hold."""


class Tally(msgspec.Struct, frozen=True):
    """The counts of a rule. `matched`: calls for which all conditions except the counting ones held; `fired`: calls at which it fired."""

    matched: int = 0
    fired: int = 0


class Armed(NamedTuple):
    """A registered rule with its fault."""

    rule: Rule
    fault: Fault


class FailedCondition(NamedTuple):
    """A condition that did not hold, with the wanted and the actual value."""

    condition: str
    wanted: Any
    was: Any

    def __str__(self) -> str:
        return f"{self.condition} is {_words(self.was)}, wanted {_words(self.wanted)}"


class RuleVerdict(NamedTuple):
    """The verdict about one rule and one call. The rule fires if nothing failed; `matched`: nothing failed except counting conditions.
    `struck` has the affected entities of the call, None for the call as a whole."""

    armed: Armed
    failed: tuple[FailedCondition, ...]
    struck: Struck | None = None

    @property
    def fires(self) -> bool:
        """True if the rule fires."""
        return not self.failed

    @property
    def matched(self) -> bool:
        """True if the call counts as matched."""
        return all(failure.condition in COUNTS for failure in self.failed)


def decide(facts: Facts, rules: Sequence[Armed], tallies: Mapping[str, Tally], dice: FaultDice) -> list[RuleVerdict]:
    """Return a verdict for each rule of the call's stage, up to the first that ends the search. Only the dice are changed."""
    verdicts = []
    for armed in rules:
        rule = armed.rule
        tally = tallies[rule.name]
        # A spent rule gives no verdict: it counts no more calls, and later rules see the call.
        if rule.stage != facts.stage or (rule.times is not None and tally.fired >= rule.times):
            continue
        failed = _failures(rule.when, facts)
        struck = armed.fault.struck(rule.when, facts) if not failed else None
        if struck is not None and not struck.entities:
            failed.append(FailedCondition(struck.kind, "one that no rule before this one has taken", None))
        # The rule that it waits for may have been removed with its counts; then this one waits for ever.
        if rule.when.after is not None and not tallies.get(rule.when.after, Tally()).fired:
            failed.append(FailedCondition("after", rule.when.after, "not fired yet"))
        if not failed:
            # Last, because drawing for other calls would make a chance depend on traffic that the rule is not about.
            failed = _uncounted(rule.when, tally.matched + 1, dice)
        verdicts.append(RuleVerdict(armed, tuple(failed), struck))
        if failed:
            continue
        if struck is not None:
            # The first rule decides for an entity, and the others of the request are left to later rules
            facts = facts._replace(entities=facts.entities.without(struck.kind, struck.entities))
        if not (armed.fault.goes_on(facts.stage) or (struck is not None and facts.entities.all)):
            break
    return verdicts


def _failures(when: When, facts: Facts) -> list[FailedCondition]:
    failed = []
    for condition, test in TESTS.items():
        wanted = getattr(when, condition)
        if wanted is not None and not test(wanted, facts):
            failed.append(FailedCondition(condition, wanted, WAS[condition](facts)))
    # One entity must meet all conditions on entities: partition 1 of `orders`, and not of another topic
    said = [condition for condition in OF_ENTITIES if getattr(when, condition) is not None]
    if said and not failed and not any(picks(when, entity) for entity in facts.entities.all):
        failed.append(FailedCondition(said[0], getattr(when, said[0]), WAS[said[0]](facts)))
    return failed


def picks(when: When, entity: Entity) -> bool:
    """True if `when` selects the entity. Conditions on what the entity does not have are ignored."""
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


def _uncounted(when: When, call: int, dice: FaultDice) -> list[FailedCondition]:
    """Check the counting conditions for the call of that number. The dice are only used if everything else holds."""
    if when.nth is not None and call != when.nth:
        return [FailedCondition("nth", when.nth, call)]
    if when.every is not None and call % when.every:
        return [FailedCondition("every", when.every, call)]
    if when.probability is not None and dice.below(CHANCES) >= when.probability * CHANCES:
        return [FailedCondition("probability", when.probability, "not drawn")]
    return []


def fits(wanted: str | list[str], found: Sequence[str | None]) -> bool:
    """True if one of the texts matches one of the patterns, in which `*` stands for anything."""
    # Not `fnmatch`, which folds case on some systems: names of groups, topics and members differ by case.
    return any(text is not None and fnmatchcase(text, pattern) for pattern in texts(wanted) for text in found)


def _number(wanted: int | list[int], found: int | None) -> bool:
    return found is not None and found in (wanted if isinstance(wanted, list) else [wanted])


TESTS: Final[dict[str, Callable[[Any, Facts], bool]]] = {
    "api": lambda wanted, facts: fits(wanted, [facts.api]),
    "version": lambda wanted, facts: any(low <= facts.version <= high for low, high in version_ranges(wanted)),
    "group": lambda wanted, facts: fits(wanted, facts.groups),
    "member_id": lambda wanted, facts: fits(wanted, facts.member_ids),
    "instance_id": lambda wanted, facts: fits(wanted, facts.instance_ids),
    "client_id": lambda wanted, facts: fits(wanted, [facts.client_id]),
    "generation": lambda wanted, facts: _number(wanted, facts.generation),
    "member_epoch": lambda wanted, facts: any(_number(wanted, each) for each in facts.member_epochs),
    "state": lambda wanted, facts: fits(wanted, [facts.state]),
    "role": lambda wanted, facts: facts.role == wanted,
    "progress": lambda wanted, facts: fits(wanted, [facts.progress]),
    "topic": lambda wanted, facts: fits(wanted, facts.topics) or fits(wanted, _said(facts, "topic")),
    "topic_id": lambda wanted, facts: any(_has_id(wanted, each) for each in facts.entities.all),
    "partition": lambda wanted, facts: any(_number(wanted, each.partition) for each in facts.entities.all),
    "resource": lambda wanted, facts: any(fits(wanted, _resource(each)) for each in facts.entities.all),
    "transactional_id": lambda wanted, facts: fits(wanted, facts.transactional_ids),
    "producer_epoch": lambda wanted, facts: any(_number(wanted, each) for each in facts.producer_epochs),
    "transaction_state": lambda wanted, facts: fits(wanted, [facts.transaction_state]),
    "committed": lambda wanted, facts: facts.committed is wanted,
    "node": lambda wanted, facts: _number(wanted, facts.node),
    "window": lambda wanted, facts: wanted[0] * NS_PER_S <= facts.now < wanted[1] * NS_PER_S,
}
"""The test of each condition, in the order of `plan.ABOUT`."""

WAS: Final[dict[str, Callable[[Facts], Any]]] = {
    "api": lambda facts: facts.api,
    "version": lambda facts: facts.version,
    "group": lambda facts: list(facts.groups),
    "member_id": lambda facts: list(facts.member_ids),
    "instance_id": lambda facts: list(facts.instance_ids),
    "client_id": lambda facts: facts.client_id,
    "generation": lambda facts: facts.generation,
    "member_epoch": lambda facts: list(facts.member_epochs),
    "state": lambda facts: facts.state,
    "role": lambda facts: facts.role,
    "progress": lambda facts: facts.progress,
    "topic": lambda facts: list(facts.topics) or _said(facts, "topic"),
    "topic_id": lambda facts: [id_text(each) for each in _said(facts, "topic_id")],
    "partition": lambda facts: [each.shown("partition") for each in facts.entities.all[:SHOWN] if each.partition is not None],
    "resource": lambda facts: [each.shown("resource") for each in facts.entities.all[:SHOWN] if each.resource is not None],
    "transactional_id": lambda facts: list(facts.transactional_ids),
    "producer_epoch": lambda facts: list(facts.producer_epochs),
    "transaction_state": lambda facts: facts.transaction_state,
    "committed": lambda facts: facts.committed,
    "node": lambda facts: facts.node,
    "window": lambda facts: facts.now / NS_PER_S,
}
assert {*TESTS, *COUNTS, "after"} == set(ABOUT) == set(When.__struct_fields__)


def _said(facts: Facts, field: str) -> list[Any]:
    """Return the values of a field in the entities of a call, each once."""
    return list(dict.fromkeys(value for each in facts.entities.all if (value := getattr(each, field)) is not None))


def _words(value: object) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return f"{value:.3f}" if isinstance(value, float) else str(value)
