"""The registry of fault rules adds, removes, holds and releases rules, counts their calls, and remembers for a rule that never fired which
call came nearest to firing it.

It does no IO: the owner of the sockets (`net.fault_gate`) calls `decide` for each call and performs the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ..text.printable import printable, quoted
from ..text.suggest import hint
from .decide import Armed, FailedCondition, ReadyRule, Tally, fits, ready, uncounted
from .facts import tells
from .kind import kind_of
from .plan import MAX_RULES, BadPlan, Rule, rule_as_data, texts, version_ranges

if TYPE_CHECKING:
    from groupmock_codec.declare import Versions

    from .facts import Facts
    from .kind import Fault, FaultDice, Struck

Served = Mapping[str, "Versions"]
"""Maps Kafka's name of each served API to its versions."""
NOTHING: Final[Mapping[str, str]] = {}
NEVER: Final = Tally()
KNOWN_AT_CONNECT: Final = ("node", "listener", "nth", "every", "after", "probability", "window")


class UnknownRule(LookupError):
    """Raised if no rule has that name. The text lists the existing names."""


class Strike(NamedTuple):
    """A rule that fires at a call, with its fault and the affected groups, topics or other entities of the call (None for the whole
    call)."""

    rule: Rule
    fault: Fault
    struck: Struck | None


class NearMiss(msgspec.Struct, frozen=True):
    """The call that came nearest to firing a rule: the latest call with the fewest failed conditions."""

    t: int
    call: str
    failed: list[str]


class RuleReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report on how often one fault rule has matched and fired. `matched` and `fired` are those of `decide.Tally`. `holding` counts
    calls that wait for a release. `spent` means that the rule will not fire again. `near_miss` is set only while it never fired."""

    name: str
    rule: dict[str, Any]
    matched: int
    fired: int
    holding: int
    spent: bool
    near_miss: NearMiss | None

    @property
    def sentence(self) -> str:
        """Return a sentence that says how often the rule fired, or which call came nearest to firing it."""
        rule, miss = f"rule {quoted(self.name)}", self.near_miss
        if self.fired:
            return f"{rule} fired {self.fired} times"
        if miss is None:
            return f"{rule} never fired: no call came at its stage"
        why = "; ".join(map(printable, miss.failed))
        return f"{rule} never fired: nearest was {printable(miss.call)} at {miss.t / 1e9:.3f} s, where {why}"


class ReadyRules(dict[tuple[str, str, int], tuple[ReadyRule, ...]]):
    """Maps stage, API and version to the rules of that stage. An entry is made at the first such call; all entries are dropped when
    rules change."""

    def __init__(self, armed: Mapping[str, Armed]) -> None:
        super().__init__()
        self._armed = armed

    def __missing__(self, key: tuple[str, str, int]) -> tuple[ReadyRule, ...]:
        stage, api, version = key
        found = self[key] = tuple(ready(each, api, version) for each in self._armed.values() if each.rule.stage == stage)
        return found


class RuleRegistry:
    """The rules by name, in the order of registration. `served` has the APIs that rules may name; `dice` is the random source for
    chances. `unable` says for kinds of faults that cannot be applied here what is missing."""

    def __init__(self, served: Served, dice: FaultDice, unable: Mapping[str, str] = NOTHING) -> None:
        self.served = served
        self.dice = dice
        self._unable = unable
        self._armed: dict[str, Armed] = {}
        self.ready = ReadyRules(self._armed)
        self._tallies: dict[str, Tally] = {}
        # Maps a rule's name to its nearest miss (the call with the fewest failed conditions): these conditions, the time, and the call.
        self._near: dict[str, tuple[list[FailedCondition], int, str]] = {}
        self._held: dict[str, list[int]] = {}
        self._unnamed = 0

    def __contains__(self, name: str) -> bool:
        return name in self._armed

    def add(self, rule: Rule, origin: str = "the rule") -> Rule:
        """Register one rule and return it with its name. If it raises BadPlan, nothing is registered."""
        return self.add_all([rule], origin)[0]

    def add_all(self, rules: Iterable[Rule], origin: str = "the plan") -> list[Rule]:
        """Register all rules or none. Raises BadPlan."""
        unnamed = self._unnamed
        armed: list[Armed] = []
        rules = list(rules)
        if len(self._armed) + len(rules) > MAX_RULES:
            there = f": {len(self._armed)} are there, remove some of them first" if self._armed else ""
            raise BadPlan(f"{origin}: {len(rules)} rules are too many, {MAX_RULES} can be registered at a time{there}")
        for place, rule in enumerate(rules, 1):
            where = f'{origin}, rule "{rule.name}"' if rule.name else f"{origin}, rule {place}"
            if not rule.name:
                unnamed += 1
                rule = msgspec.structs.replace(rule, name=f"rule-{unnamed}")
            armed.append(self._arm(rule, where, [each.rule.name for each in armed]))
        # The unnamed rules are counted only after all rules were accepted, so that a refused fault plan uses up no numbers.
        self._unnamed = unnamed
        for each in armed:
            self._armed[each.rule.name] = each
            self._tallies[each.rule.name] = Tally()
        self.ready.clear()
        return [each.rule for each in armed]

    def remove(self, name: str) -> list[int]:
        """Remove a rule and return the tickets of the requests that it held. Raises UnknownRule."""
        freed = self.release(name)
        del self._armed[name], self._tallies[name]
        self._near.pop(name, None)
        self.ready.clear()
        return freed

    def clear(self) -> list[int]:
        """Remove every rule and return the tickets of the requests that they held."""
        return [ticket for name in list(self._armed) for ticket in self.remove(name)]

    def hold(self, name: str, ticket: int) -> None:
        """Note a request that waits for the release of its rule."""
        self._held.setdefault(name, []).append(ticket)

    def release(self, name: str) -> list[int]:
        """Return the tickets of the requests that a rule holds, oldest first, and hold them no longer. The rule stays. Raises
        UnknownRule."""
        self._known(name)
        return self._held.pop(name, [])

    def decide(self, facts: Facts) -> list[Strike]:
        """Return the rules that fire at this call, and count the call.

        Rules are checked in the order of their registration. A rule that fires ends the search, unless its kind lets the call go on.
        """
        strikes: list[Strike] = []
        counted: list[tuple[str, Tally]] = []
        for each in self.ready[facts.stage, facts.api, facts.version]:
            rule, fault = each.armed
            tally = self._tallies[rule.name]
            # A rule that has fired as often as it may counts no more calls, and later rules see the call.
            if rule.times is not None and tally.fired >= rule.times:
                continue
            # Only a rule that has never fired has a near miss, which is the call with the fewest failed conditions.
            near = self._near.get(rule.name)
            most = 0 if tally.fired else None if near is None else len(near[0])
            if most is not None and each.lacking > most:
                continue
            failed = each.failures(facts, most)
            if failed is None:
                continue
            struck = fault.struck(rule.when, facts) if not failed else None
            if struck is not None and not struck.entities:
                failed.append(FailedCondition(struck.kind, fault.MISSED, None))
            # The rule that `after` names may have been removed with its counts; then the present rule never fires.
            if rule.when.after is not None and not self._tallies.get(rule.when.after, NEVER).fired:
                failed.append(FailedCondition("after", rule.when.after, "not fired yet"))
            if not failed and (lacking := fault.lacks(facts)) is not None:
                failed.append(lacking)
            if not failed:
                # The probability is drawn last, because draws for other calls would make it depend on unrelated traffic.
                failed = uncounted(rule.when, tally.matched + 1, self.dice)
                counted.append((rule.name, Tally(tally.matched + 1, tally.fired + (not failed))))
            if failed:
                if most is None or len(failed) <= most:
                    call = f"{facts.api} v{facts.version}" if facts.api else f"a connection to node {facts.node}"
                    who = facts.client_id or f"connection {facts.connection}"
                    self._near[rule.name] = failed, facts.now, f"{call} of {who}"
                continue
            strikes.append(Strike(rule, fault, struck))
            if struck is not None and fault.DECIDES:
                # The first rule that fires decides for a topic, group or partition; later rules see only the others of the request.
                facts = facts.without(struck.kind, struck.entities)
            if not (fault.goes_on(facts.stage) or (struck is not None and facts.entities.all)):
                break
        self._tallies.update(counted)
        return strikes

    def live(self, stage: str | None = None, api: str | None = None) -> bool:
        """Return whether a rule could still fire (at that stage, at a call of that API)."""
        return any(
            not self._spent(each.rule)
            and stage in (None, each.rule.stage)
            and (api is None or (each.rule.stage != "connect" and (each.rule.when.api is None or fits(each.rule.when.api, [api]))))
            for each in self._armed.values()
        )

    def report(self, name: str) -> RuleReport:
        """Return the report of one rule. Raises UnknownRule."""
        self._known(name)
        rule, tally = self._armed[name].rule, self._tallies[name]
        near = self._near.get(name) if not tally.fired else None
        return RuleReport(
            name=name,
            rule=rule_as_data(rule),
            matched=tally.matched,
            fired=tally.fired,
            holding=len(self._held.get(name, ())),
            spent=self._spent(rule),
            near_miss=NearMiss(near[1], near[2], list(map(str, near[0]))) if near else None,
        )

    def reports(self) -> list[RuleReport]:
        """Return the reports of all rules in order."""
        return [self.report(name) for name in self._armed]

    def never_fired(self) -> list[RuleReport]:
        """Return the reports of rules that never fired, each with the call that came nearest to firing it."""
        return [report for report in self.reports() if not report.fired]

    def _known(self, name: str) -> None:
        if name not in self._armed:
            raise UnknownRule(f"no rule {name!r}: there are {', '.join(self._armed) or 'none'}")

    def _spent(self, rule: Rule) -> bool:
        tally = self._tallies[rule.name]
        used = rule.times is not None and tally.fired >= rule.times
        return used or (rule.when.nth is not None and tally.matched >= rule.when.nth)

    def _arm(self, rule: Rule, origin: str, earlier: list[str]) -> Armed:
        if rule.name in self._armed or rule.name in earlier:
            raise BadPlan(f"{origin}: there is a rule of that name already: remove it first or choose another name")
        fault = kind_of(rule.do, origin)
        kind = rule.do["kind"]
        if kind in self._unable:
            raise BadPlan(f"{origin}: {kind} cannot strike here: {self._unable[kind]}")
        rule = rule if rule.stage else msgspec.structs.replace(rule, stage=fault.STAGES[0])
        if rule.stage not in fault.STAGES:
            raise BadPlan(f"{origin}: {kind} cannot strike at stage {rule.stage!r}: its stages are {', '.join(fault.STAGES)}")
        after = rule.when.after
        if after is not None and after not in self._armed and after not in earlier:
            raise BadPlan(f"{origin}, when: after names no rule {after!r} that is registered before this one")
        if rule.stage == "connect":
            self._check_connect(rule, origin)
        else:
            self._check_calls(rule, Armed(rule, fault), origin)
        return Armed(rule, fault)

    def _check_connect(self, rule: Rule, origin: str) -> None:
        for condition in rule.when.__struct_fields__:
            if getattr(rule.when, condition) is not None and condition not in KNOWN_AT_CONNECT:
                raise BadPlan(
                    f"{origin}, when: {condition} is not known at stage connect, where only the node, listener, time and counts are: "
                    "use stage request"
                )

    def _check_calls(self, rule: Rule, armed: Armed, origin: str) -> None:
        scopes = self._scopes(rule, origin)
        remaining = scopes
        for condition in rule.when.__struct_fields__:
            if getattr(rule.when, condition) is not None:
                remaining = [(api, version) for api, version in scopes if tells(api, version, condition, str(rule.stage))]
                if not remaining:
                    what = _scope_words(scopes)
                    raise BadPlan(f"{origin}, when: {condition} can never hold: a request of {what} does not say it")
                scopes = remaining
        reasons = {(api, version): armed.fault.cannot(str(rule.stage), api, version, rule.when) for api, version in scopes}
        for (api, version), reason in reasons.items():
            if reason is not None:
                able = [other for (name, other), why in reasons.items() if name == api and why is None]
                remedy = f"; in others it can: say version = {_version(able, self.served[api].highest)}" if able else ""
                raise BadPlan(f"{origin}: {rule.do['kind']} cannot be at stage {rule.stage} of {api} v{version}: {reason}{remedy}")

    def _scopes(self, rule: Rule, origin: str) -> list[tuple[str, int]]:
        """Return every API and version to which the rule may apply on this cluster."""
        wanted, ranges = rule.when.api, version_ranges(rule.when.version)
        for pattern in texts(wanted):
            if not any(fits(pattern, [name]) for name in self.served):
                raise BadPlan(f"{origin}, when: no API {pattern!r} is served{hint(pattern, self.served)}: `groupmock apis` lists them")
        names = [name for name in self.served if wanted is None or fits(wanted, [name])]
        scopes = [
            (name, version)
            for name in names
            for version in self.served[name].every
            if not ranges or any(low <= version <= high for low, high in ranges)
        ]
        if not scopes:
            spans = ", ".join(f"{name} {self.served[name]}" for name in names)
            raise BadPlan(f"{origin}, when: version {rule.when.version} is never asked for: served are {spans}")
        return scopes


def _version(versions: list[int], newest: int) -> str:
    """Format version numbers as a fault plan writes them: "1-", or ["0-3", "8-"]."""
    spans: list[list[int]] = []
    for version in versions:
        if spans and version == spans[-1][1] + 1:
            spans[-1][1] = version
        else:
            spans.append([version, version])
    shown = [f'"{first}-"' if last == newest else f'"{first}"' if first == last else f'"{first}-{last}"' for first, last in spans]
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


def _scope_words(scopes: list[tuple[str, int]]) -> str:
    names = list(dict.fromkeys(name for name, _ in scopes))
    if len(names) > 1:
        return "these APIs"
    versions = [version for _, version in scopes]
    return f"{names[0]} v{min(versions)}" + (f" to v{max(versions)}" if len(versions) > 1 else "")
