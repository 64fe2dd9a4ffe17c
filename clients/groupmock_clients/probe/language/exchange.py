"""What an exchange is, once read: plain frozen data. `parser.py` makes it, `verdicts/runner.py` plays it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from .syntax import Expr

RELEASES = ("4.3", "3.9")
"""The releases an exchange can speak about, newest first; expectations without a release are 4.3's."""
BASE_SETTINGS = {
    "group.initial.rebalance.delay.ms": "400",
    "group.min.session.timeout.ms": "100",
    "group.max.session.timeout.ms": "1800000",
    "group.max.size": "2147483647",
}
"""What every exchange counts on unless its own `settings:` say otherwise."""
CONSUMER_SETTINGS = {
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.max.size": "2147483647",
    "group.consumer.migration.policy": "bidirectional",
}
"""What those of consumer groups count on besides."""
NEEDS = {
    "transactions": "transactional producers (InitProducerId ... EndTxn)",
    "kip848": "consumer groups of KIP-848 (ConsumerGroupHeartbeat)",
    "share": "share groups (KIP-932)",
    "streams": "streams groups (KIP-1071)",
    "authorizer": "an authorizer and a refused principal",
    "dead": "a group in state Dead that still gets requests: cannot be provoked from outside",
    "log": "reading the records of __consumer_offsets",
    "failure": "an append to the group's log that fails",
    "epochs": "32766 epochs of one transactional id: minutes of requests",
    "untouched": "a broker on which nobody has looked for a group's coordinator yet",
    "cluster": "several nodes and a leadership that moves on command",
}
"""What a row may need that not every broker offers."""
SERVED: Final = frozenset(("kip848",))
"""What of it the pure core offers; exchanges that need anything else are counted, not run."""


@dataclass(frozen=True)
class Guard:
    """When a step counts: in these releases (empty: all), on this stage, and while the comparisons of parameters hold."""

    releases: tuple[str, ...] = ()
    stage: str | None = None
    comparisons: tuple[tuple[str, str, int], ...] = ()

    def holds(self, release: str, stage: str, parameters: Mapping[str, int]) -> bool:
        """Is the step part of the dialogue here?"""
        if (self.releases and release not in self.releases) or self.stage not in (None, stage):
            return False
        return all(_compare(parameters[name], operator, number) for name, operator, number in self.comparisons)


def _compare(left: int, operator: str, right: int) -> bool:
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right, "=": left == right}[operator]


@dataclass(frozen=True)
class Timing:
    """When an answer is due, in ms: at once, eventually, or `lowest..highest` after the request (or after the mark `since`)."""

    kind: str = "at once"
    lowest: int = 0
    highest: int = 0
    since: str | None = None


@dataclass(frozen=True)
class Expectation:
    """`kind`: answer, any, parked (no answer yet), sent (with or without one), silence (none for `timing.lowest` ms), closed, open."""

    kind: str
    error: int | None = None
    fields: tuple[tuple[str, Expr], ...] = ()
    timing: Timing = Timing()


@dataclass(frozen=True)
class Expectations:
    """What is expected by release: `by_release[""]` where nothing else is said; `text` as written, for reports."""

    by_release: dict[str, Expectation]
    text: str

    def of(self, release: str) -> Expectation:
        """The expectation that holds for a release."""
        return self.by_release.get(release, self.by_release[""])


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of an exchange. `text`: the line as written (macro names filled in)."""

    place: str
    text: str
    guard: Guard = Guard()


@dataclass(frozen=True, kw_only=True)
class Send(Step):
    """A member sends a request; with expectations it also awaits the answer."""

    member: str
    api: str
    version: Expr | None
    fields: tuple[tuple[str, Expr], ...]
    expects: Expectations | None


@dataclass(frozen=True, kw_only=True)
class Raw(Step):
    """A member sends bytes: `frame` puts a length in front, `bytes` does not."""

    member: str
    framed: bool
    parts: tuple[Expr, ...]
    expects: Expectations | None


@dataclass(frozen=True, kw_only=True)
class Await(Step):
    """A member looks at the answer to its oldest unanswered request."""

    member: str
    expects: Expectations


@dataclass(frozen=True, kw_only=True)
class Pause(Step):
    """Time passes: `ms` milliseconds, or until so many after a mark."""

    ms: Expr
    since: str | None = None


@dataclass(frozen=True, kw_only=True)
class Act(Step):
    """`verb`: drops, resets, finishes (half-closes), reconnects, forgets, is (takes over the identity of `other`)."""

    member: str
    verb: str
    other: str | None = None


@dataclass(frozen=True, kw_only=True)
class Command(Step):
    """A command of the core (`!name field=value`): exists on the core stage only."""

    name: str
    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, kw_only=True)
class Mark(Step):
    """Remember this moment under a name, for `since`."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Let(Step):
    """Remember a value under a name."""

    name: str
    value: Expr


@dataclass
class Exchange:
    """A scripted dialogue. `rows`: what it proves; `needs`: what not every broker has (NEEDS); `parameters`: name -> values to expand over;
    `own`: those of its topics that no other dialogue shares, with their configs."""

    name: str
    title: str
    place: str
    rows: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    releases: tuple[str, ...] = RELEASES
    stages: tuple[str, ...] = ("core", "tcp")
    settings: dict[str, str] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    own: dict[str, dict[str, str]] = field(default_factory=dict)
    members: dict[str, tuple[tuple[str, Expr], ...]] = field(default_factory=dict)
    parameters: dict[str, tuple[int, ...]] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    @property
    def lacking(self) -> tuple[str, ...]:
        """What it needs that the core does not offer."""
        return tuple(need for need in self.needs if need not in SERVED)

    @property
    def wanted_settings(self) -> dict[str, str]:
        """What the broker must have, by Kafka's names."""
        return {**BASE_SETTINGS, **(CONSUMER_SETTINGS if "kip848" in self.needs else {}), **self.settings}

    def variants(self) -> Iterator[Variant]:
        """One dialogue per combination of parameter values."""
        for values in product(*self.parameters.values()):
            yield Variant(self, dict(zip(self.parameters, values, strict=True)))


@dataclass(frozen=True)
class Variant:
    """An exchange with its parameters bound."""

    exchange: Exchange
    parameters: dict[str, int]

    @property
    def name(self) -> str:
        """`NAME` or `NAME[v=5]`: unique in a suite."""
        inner = ",".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.exchange.name}[{inner}]" if inner else self.exchange.name
