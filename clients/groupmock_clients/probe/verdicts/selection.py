"""Select the dialogues to play against a broker, and say why others are not played."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..language.exchange import NEEDS, Exchange, Send, Variant
from ..language.exchange_suite import Suite
from ..stages.tcp_broker import TRANSACTIONS, CannotProvide, TcpBroker
from .not_applicable import not_offered
from .outcome import BROKEN, NOT_APPLICABLE, UNKNOWN, DialogueOutcome, Failure
from .playable import Unplayable, fit, known_settings

# Without ConsumerGroupHeartbeat (68) no member can join a group of the consumer protocol.
OFFERS: Final = {"transactions": TRANSACTIONS, "kip848": (68,), "share": (76, 78), "streams": (88,)}
"""Maps a requirement to the APIs that a broker advertises if it meets the requirement."""
OF_SECURITY: Final = ("authorizer", "no-authorizer", "listeners")


class UnknownName(Exception):
    """A pattern of --only matches no exchange and no row."""


@dataclass(frozen=True)
class Planned:
    """Holds a dialogue to play: `variant` is slower than the text by `factor`, and `written` is as in the file."""

    written: Variant
    variant: Variant
    factor: float

    @property
    def name(self) -> str:
        return self.written.name


@dataclass(frozen=True)
class Wishes:
    """The user's selection of dialogues. `only` has names or rows with `*`, longer dialogues than `longest_s` are left out, and `quick`
    plays only the newest version of each exchange."""

    only: Sequence[str] = ()
    longest_s: float = 60
    quick: bool = False


def chosen(suite: Suite, wishes: Wishes) -> list[Variant]:
    """Return the dialogues that the user has selected. Raises UnknownName with a pattern that matches nothing."""
    for pattern in wishes.only:
        if not any(_fits(name, pattern) for exchange in suite.exchanges for name in _names(exchange)):
            raise UnknownName(f"no exchange and no row is called {pattern!r}")
    wanted = [each for each in suite.exchanges if not wishes.only or any(_asked(each, pattern) for pattern in wishes.only)]
    return [variant for each in wanted for variant in _variants(each, wishes.only)]


def rows_asked(suite: Suite, only: Iterable[str]) -> list[str]:
    """Return the rows that the patterns match, by their own name or through an exchange."""
    patterns = list(only)
    if not patterns:
        return list(suite.rows)
    by_name = {row for row in suite.rows if any(_fits(row, pattern) for pattern in patterns)}
    by_exchange = {row for each in suite.exchanges if any(_fits(each.name, pattern) for pattern in patterns) for row in each.rows}
    return [row for row in suite.rows if row in by_name or row in by_exchange]


def _variants(exchange: Exchange, only: Sequence[str]) -> list[Variant]:
    """Return all variants of an exchange, or those that an `--only NAME[v=5]` names."""
    found = list(exchange.variants())
    if only and not any(_fits(name, pattern) for name in (exchange.name, *exchange.rows) for pattern in only):
        found = [each for each in found if any(_fits(each.name, pattern) for pattern in only)]
    return found


def _names(exchange: Exchange) -> tuple[str, ...]:
    return (exchange.name, *exchange.rows, *(each.name for each in exchange.variants()))


def _asked(exchange: Exchange, pattern: str) -> bool:
    return any(_fits(name, pattern) for name in _names(exchange))


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatch.fnmatchcase(name, pattern)


def newest(decided: Sequence[Planned | DialogueOutcome]) -> list[Planned | DialogueOutcome]:
    """Keep the last dialogue of every exchange that applies to this broker, or else its last dialogue."""
    found: dict[str, Planned | DialogueOutcome] = {}
    for each in decided:
        name = each.name.partition("[")[0]
        if name not in found or not (isinstance(each, DialogueOutcome) and each.verdict == NOT_APPLICABLE):
            found[name] = each
    return list(found.values())


def _has_producers(exchange: Exchange) -> bool:
    return any(isinstance(step, Send) and step.api == "InitProducerId" for step in exchange.steps)


class Planner:
    """Decides how each dialogue is played, from the broker's versions and settings."""

    def __init__(self, broker: TcpBroker, settings: Mapping[str, str], wishes: Wishes) -> None:
        self._broker, self._wishes = broker, wishes
        self._settings = known_settings(broker.release, settings)
        self._told = settings
        self._lacking = self._find_lacking()

    def _find_lacking(self) -> dict[str, tuple[str, str]]:
        """Return the requirements that this broker does not meet: need -> (verdict, reason)."""
        lacking = {need: (UNKNOWN, f"needs {what}") for need, what in NEEDS.items() if need not in (*OFFERS, *OF_SECURITY)}
        if not self._broker.has_authorizer():
            lacking["authorizer"] = (NOT_APPLICABLE, f"needs {NEEDS['authorizer']}: the broker has none")
        else:
            lacking["no-authorizer"] = (NOT_APPLICABLE, f"needs {NEEDS['no-authorizer']}")
            if not self._broker.is_super_user():
                lacking["authorizer"] = (UNKNOWN, f"needs {NEEDS['authorizer']}: the probe's may not read rules")
        for need, keys in OFFERS.items():
            if any(self._broker.versions(key) is None for key in keys):
                lacking[need] = (NOT_APPLICABLE, f"needs {NEEDS[need]}, which the broker does not advertise")
        if "kip848" not in lacking and self._broker.has_consumer_protocol_off():
            lacking["kip848"] = (NOT_APPLICABLE, f"needs {NEEDS['kip848']}, which the broker advertises and has off")
        return lacking

    def prepare(self, variants: Sequence[Variant]) -> None:
        """Wait for transaction coordinators if a dialogue needs a producer id. A broker creates the topic of transactions at the first
        request, and answers 15 or 16 until the topic exists."""
        if "transactions" in self._lacking or not any(_has_producers(each.exchange) for each in variants):
            return
        try:
            self._broker.wait_for_transactions()
        except CannotProvide as problem:
            self._lacking["transactions"] = (UNKNOWN, str(problem))

    def decide(self, variant: Variant) -> Planned | DialogueOutcome:
        """Return how the dialogue is played, or the verdict that it gets without being played."""
        exchange = variant.exchange
        verdict = next(self._verdicts(variant), None)
        if verdict is not None:
            beyond = "tcp" not in exchange.stages or not set(exchange.needs) <= {*OFFERS, *OF_SECURITY}
            return DialogueOutcome(variant.name, exchange.rows, verdict[0], verdict[1], failure=verdict[2], beyond=beyond)
        try:
            slower, factor = fit(variant, self._broker.release, self._settings | self._asked_for(exchange), self._wishes.longest_s * 1000)
        except Unplayable as why:
            return DialogueOutcome(variant.name, exchange.rows, UNKNOWN, str(why))
        return Planned(variant, slower, factor)

    def _asked_for(self, exchange: Exchange) -> dict[str, str]:
        """Return the broker's values of settings that only this exchange mentions."""
        return {name: self._told[name] for name in exchange.settings if name in self._told}

    def _verdicts(self, variant: Variant) -> Iterator[tuple[str, str, Failure | None]]:
        exchange, release = variant.exchange, self._broker.release
        if release not in exchange.releases:
            yield NOT_APPLICABLE, f"speaks of {' '.join(exchange.releases)}", None
        for need in exchange.needs:
            if need in self._lacking:
                yield (*self._lacking[need], None)
        missing = [name for name in exchange.listeners if name not in self._broker.access.listeners]
        if missing:
            yield NOT_APPLICABLE, f"needs the listener {missing[0]}, which was not named (--listener)", None
        if "tcp" not in exchange.stages:
            yield UNKNOWN, "needs a cluster of its own, with commands or changes for all of it: cannot be provoked from outside", None
        lack = not_offered(variant, release, self._broker.versions)
        if lack is not None:
            reason, allowed = lack
            failure = Failure(exchange.place, "", "ApiVersions", "an API without which there is no group", reason, (reason,))
            yield (NOT_APPLICABLE, reason, None) if allowed else (BROKEN, reason, failure)
