"""The authorizer keeps the rules and decides by them, as Kafka's StandardAuthorizer does.

A decision looks only at the rules whose patterns cover the resource: a literal name, `*`, and the prefixes of the name. It is kept until
the rules change, so that a request of a running client costs one look-up of a dictionary.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from ..budget import take
from ..settings import super_users_of
from .acl import (
    ALL,
    ALLOW,
    ANY_HOST,
    ANY_NAME,
    ANYBODY,
    DENY,
    GRANTED_BY,
    LITERAL,
    OPERATIONS,
    PREFIXED,
    RESOURCE_TYPES,
    Acl,
    AclFilter,
    supported,
)

if TYPE_CHECKING:
    from ..events import Request
    from ..settings import Settings
    from ..turn import Turn

MOST_RULES: Final = 10_000
MOST_TEXT: Final = 1024 * 1024
"""The largest number of characters in the texts of all rules together."""
MOST_DECISIONS: Final = 10_000
"""At most this many decisions are kept. A flood of different names empties the table, which costs time and nothing else."""
LONGEST_KEPT: Final = 255
"""Decisions about longer names are made anew each time, because a peer may send names of any length."""
MOST_NOTES: Final = 10
"""At most this many refusals of one request have a row in the journal each."""
LENGTHS_PER_UNIT: Final = 4
RULES_PER_UNIT: Final = 4
"""A filter looks at this many rules for one unit of work."""
NO_ROOM: Final = f"This broker keeps at most {MOST_RULES} ACLs whose texts have at most {MOST_TEXT} characters."
NOTHING: Final[frozenset[str]] = frozenset()

Covering = dict[Acl, None]


def address_of(client_host: str) -> str:
    """Return the client's address as ACLs write it, without the slash of InetAddress.toString()."""
    return client_host.rpartition("/")[2]


class Authorizer:
    """The rules of a cluster. `changed` is called after every change of them."""

    def __init__(self, settings: Settings, changed: Callable[[], None]) -> None:
        self._super_users = frozenset(super_users_of(settings.super_users))
        self._open = settings.allow_everyone_if_no_acl_found
        self._quirks = settings.quirks
        self._changed = changed
        self._rules: Covering = {}
        self._literal: dict[tuple[int, str], Covering] = {}
        self._prefixed: dict[tuple[int, str], Covering] = {}
        self._lengths: dict[int, list[int]] = {}
        """The lengths of the prefixes in rules, by resource type, in ascending order."""
        self.text = 0
        """The number of characters in the texts of all rules."""
        self._decisions: dict[tuple[str, str, int, int, str], bool] = {}

    def rules(self) -> Iterator[Acl]:
        """Yield all rules in the order in which they were added."""
        return iter(self._rules)

    @property
    def price(self) -> int:
        """Return the units of work of looking at every rule."""
        return 1 + len(self._rules) // RULES_PER_UNIT

    def matching(self, wanted: AclFilter) -> list[Acl]:
        return [rule for rule in self._rules if wanted.matches(rule)]

    def has_room(self, rules: Iterable[Acl]) -> bool:
        """True if these rules fit within the bounds of the number and of the texts of all rules."""
        new = {rule for rule in rules if rule not in self._rules}
        return len(self._rules) + len(new) <= MOST_RULES and self.text + sum(rule.size for rule in new) <= MOST_TEXT

    def add(self, rules: Iterable[Acl]) -> None:
        """Add rules for which there is room. A rule that exists already is not added again."""
        for rule in rules:
            if rule not in self._rules:
                self._rules[rule] = None
                self.text += rule.size
                self._covering_of(rule).setdefault((rule.kind, rule.name), {})[rule] = None
                if rule.pattern == PREFIXED:
                    self._count_length(rule)
        self._forget_decisions()

    def remove(self, rules: Iterable[Acl]) -> None:
        for rule in rules:
            if rule in self._rules:
                del self._rules[rule]
                self.text -= rule.size
                at, covering = (rule.kind, rule.name), self._covering_of(rule)
                del covering[at][rule]
                if not covering[at]:
                    del covering[at]
        self._forget_decisions()

    def _covering_of(self, rule: Acl) -> dict[tuple[int, str], Covering]:
        return self._prefixed if rule.pattern == PREFIXED else self._literal

    def _count_length(self, rule: Acl) -> None:
        lengths = self._lengths.setdefault(rule.kind, [])
        if len(rule.name) not in lengths:
            insort(lengths, len(rule.name))

    def _forget_decisions(self) -> None:
        self._decisions.clear()
        self._changed()

    def allows(self, principal: str, client_host: str, operation: int, kind: int, name: str) -> bool:
        """Return whether the principal may do the operation on the resource, from that address."""
        if len(name) > LONGEST_KEPT:
            return self._decide(principal, address_of(client_host), operation, kind, name)
        key = (principal, client_host, operation, kind, name)
        known = self._decisions.get(key)
        if known is None:
            if len(self._decisions) >= MOST_DECISIONS:
                self._decisions.clear()
            known = self._decisions[key] = self._decide(principal, address_of(client_host), operation, kind, name)
        return known

    def _decide(self, principal: str, host: str, operation: int, kind: int, name: str) -> bool:
        if principal in self._super_users:
            return True
        granted_by = GRANTED_BY.get(operation, (ALL, operation))
        covered = allowed = False
        for rules in self._covering(kind, name):
            covered = True
            for rule in rules:
                if not _concerns(rule, principal, host):
                    continue
                if rule.permission == DENY and rule.operation in (ALL, operation):
                    return False
                allowed = allowed or (rule.permission == ALLOW and rule.operation in granted_by)
        return allowed or (self._open and not covered)

    def _covering(self, kind: int, name: str) -> Iterator[Covering]:
        """Yield the rules of each pattern that covers the resource."""
        literal, prefixed = self._literal, self._prefixed
        for each in (name, ANY_NAME) if name != ANY_NAME else (name,):
            if (kind, each) in literal:
                yield literal[kind, each]
        for length in self._lengths.get(kind, ()):
            if length > len(name):
                return
            if (kind, name[:length]) in prefixed:
                yield prefixed[kind, name[:length]]

    def allows_on_any(self, request: Request, operation: int, kind: int) -> bool:
        """Return whether the principal may do the operation on some resource of the type, which need not exist
        (Authorizer.authorizeByResourceType; SEC-98)."""
        principal, host = request.principal, address_of(request.client_host)
        # Kafka asks about a resource of this name first, so that super users pass every DENY.
        if self.allows(principal, request.client_host, operation, kind, "hardcode"):
            return True
        rules = [
            rule
            for rule in self._rules
            if rule.kind == kind and rule.operation in (operation, ALL) and _concerns(rule, principal, host)
        ]
        denied = {(rule.pattern, rule.name) for rule in rules if rule.permission == DENY}
        allowed = {(rule.pattern, rule.name) for rule in rules if rule.permission == ALLOW}
        if (LITERAL, ANY_NAME) in denied:
            return False
        if (LITERAL, ANY_NAME) in allowed:
            return True
        lengths = sorted({len(name) for pattern, name in denied if pattern == PREFIXED})
        return any(
            not (pattern == LITERAL and (LITERAL, name) in denied)
            and not any((PREFIXED, name[:length]) in denied for length in lengths if length <= len(name))
            for pattern, name in allowed
        )

    def operations(self, request: Request, kind: int, name: str) -> int:
        """Return the operations that the sender may do on the resource as bits: bit n stands for operation n."""
        principal, host = request.principal, request.client_host
        return sum([1 << each for each in supported(kind, self._quirks) if self.allows(principal, host, each, kind, name)])

    def denied(self, turn: Turn, request: Request, operation: int, kind: int, names: Iterable[str]) -> frozenset[str]:
        """Return those of the names on which the sender may not do the operation, each refusal with a row in the journal. Raises
        OverBudget if the decisions are too much work for one request."""
        wanted = dict.fromkeys(names)
        take(turn.settings, len(wanted), 1 + len(self._lengths.get(kind, ())) // LENGTHS_PER_UNIT)
        principal, host = request.principal, request.client_host
        found = [name for name in wanted if not self.allows(principal, host, operation, kind, name)]
        if not found:
            return NOTHING
        for name in found[:MOST_NOTES]:
            note_denied(turn, request, operation, kind, name)
        return frozenset(found)


def note_denied(turn: Turn, request: Request, operation: int, kind: int, name: str) -> None:
    """Add a row that says which right the sender of a request lacks."""
    turn.note(
        "not_authorized",
        ticket=request.ticket,
        connection=request.connection,
        principal=request.principal,
        operation=OPERATIONS[operation],
        resource_type=RESOURCE_TYPES[kind],
        resource=name if len(name) <= LONGEST_KEPT else f"{name[:LONGEST_KEPT]}...",
    )


def _concerns(rule: Acl, principal: str, host: str) -> bool:
    return rule.principal in (principal, ANYBODY) and rule.host in (host, ANY_HOST)
