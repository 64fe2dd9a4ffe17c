"""The data types of a parsed exchange, all of them frozen. `parser.py` makes it, `verdicts/runner.py` plays it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from groupmock.config import profiles

from .syntax import Expr

RELEASES: Final = profiles.releases()
"""The releases that expectations can name, newest first. Expectations without a release are those of all that no other one names."""
BASE_SETTINGS = {
    "group.initial.rebalance.delay.ms": "400",
    "group.min.session.timeout.ms": "100",
    "group.max.session.timeout.ms": "1800000",
    "group.max.size": "2147483647",
}
"""The settings of every exchange, unless its own `settings:` say otherwise."""
CONSUMER_SETTINGS = {
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.max.size": "2147483647",
    "group.consumer.migration.policy": "bidirectional",
}
"""The additional settings of exchanges about consumer groups."""
SHARE_SETTINGS = {
    "group.share.session.timeout.ms": "45000",
    "group.share.heartbeat.interval.ms": "5000",
    "group.share.max.size": "200",
    "group.share.record.lock.duration.ms": "30000",
    "group.share.delivery.count.limit": "5",
}
"""The additional settings of exchanges about share groups."""
NEEDS = {
    "transactions": "transactional producers (InitProducerId ... EndTxn)",
    "kip848": "consumer groups of KIP-848 (ConsumerGroupHeartbeat)",
    "share": "share groups (KIP-932)",
    "streams": "streams groups (KIP-1071)",
    "authorizer": "an authorizer, of which the probe's own principal is a super user",
    "no-authorizer": "a broker without an authorizer",
    "listeners": "the secured listeners and users that the exchange names",
    "dead": "a group in state Dead that still gets requests: cannot be provoked from outside",
    "log": "reading the records of __consumer_offsets",
    "failure": "an append to the group's log that fails",
    "epochs": "32766 epochs of one transactional id: minutes of requests",
    "untouched": "a broker on which nobody has looked for a group's coordinator yet",
    "cluster": "several nodes and a leadership that moves on command",
}
"""Maps each requirement that not every broker meets to its description."""
SERVED: Final = frozenset(("kip848", "share", "streams", "authorizer", "no-authorizer"))
"""The requirements of exchanges that the pure core meets. Exchanges with any other are counted but not played."""
AUTHORIZER_SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""The settings of a cluster with an authorizer, to which the members that have not authenticated themselves are super users."""


@dataclass(frozen=True)
class Guard:
    """The condition under which a step is played: in these releases (all if empty), on this stage, and if comparisons of parameters
    hold."""

    releases: tuple[str, ...] = ()
    stage: str | None = None
    comparisons: tuple[tuple[str, str, int], ...] = ()

    def holds(self, release: str, stage: str, parameters: Mapping[str, int]) -> bool:
        """Tell whether a step with this guard is played."""
        if (self.releases and release not in self.releases) or self.stage not in (None, stage):
            return False
        return all(_compare(parameters[name], operator, number) for name, operator, number in self.comparisons)


def _compare(left: int, operator: str, right: int) -> bool:
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right, "=": left == right}[operator]


@dataclass(frozen=True)
class Timing:
    """The time in ms at which an answer is due: at once, eventually, before `highest`, or `lowest..highest` after the request (or after
    the moment named by `since`)."""

    kind: str = "at once"
    lowest: int = 0
    highest: int = 0
    since: str | None = None


@dataclass(frozen=True)
class Expectation:
    """The expectation that an exchange has after one step, such as an answer. `kind`: answer, any, parked (no answer yet), sent (with or
    without one), silence (none for `timing.lowest` ms), closed, open, bytes (these alone, and then the end of a bare connection)."""

    kind: str
    error: int | None = None
    fields: tuple[tuple[str, Expr], ...] = ()
    timing: Timing = Timing()


@dataclass(frozen=True)
class Expectations:
    """The expectations of a step for each release. `by_release[""]` is the default. `text` is the source, for reports."""

    by_release: dict[str, Expectation]
    text: str

    def of(self, release: str) -> Expectation:
        return self.by_release.get(release, self.by_release[""])


@dataclass(frozen=True, kw_only=True)
class Step:
    """A line of an exchange, as the base class of all kinds of steps. `text` is the line as written, with macro names filled in. Steps
    are equal if they do the same."""

    place: str = field(default="", compare=False)
    text: str = field(default="", compare=False)
    guard: Guard = Guard()


@dataclass(frozen=True, kw_only=True)
class Send(Step):
    """The step in which a member sends a request. With expectations it also awaits the answer.

    As in all steps, `member` carries the number of the connection unless it is the first (`A/2`). `bound` is the name of the answer.
    """

    member: str
    api: str
    version: Expr | None
    fields: tuple[tuple[str, Expr], ...]
    expects: Expectations | None = None
    bound: str | None = None


@dataclass(frozen=True, kw_only=True)
class Raw(Step):
    """The step in which a member sends bytes: `frame` and `token` prepend a length, `bytes` does not. A `token` is answered with bytes
    behind a length (SASL after a handshake of version 0)."""

    member: str
    framed: bool
    parts: tuple[Expr, ...]
    expects: Expectations | None = None
    token: bool = False
    bound: str | None = None


@dataclass(frozen=True, kw_only=True)
class Await(Step):
    """The step in which a member awaits the answer to its oldest unanswered request."""

    member: str
    expects: Expectations


@dataclass(frozen=True, kw_only=True)
class Pause(Step):
    """The step that lets `ms` milliseconds pass, counted from now or from a moment that an earlier step has named."""

    ms: Expr
    since: str | None = None


@dataclass(frozen=True, kw_only=True)
class Act(Step):
    """The step in which a member's connection or identity changes. `verb`: drops, resets, finishes (half-closes), reconnects, forgets,
    is (takes over the identity of `other`)."""

    member: str
    verb: str
    other: str | None = None


@dataclass(frozen=True, kw_only=True)
class Connect(Step):
    """The step in which a member opens a connection to a listener, by TLS if the listener has it. With `user` the member authenticates
    itself by `mechanism`. `certificate` is what it shows: `client` (of the broker's authority) or `foreign`. `bare`: bytes are sent and
    heard as they are, even on a listener with TLS."""

    member: str
    listener: str
    user: Expr | None = None
    mechanism: str | None = None
    certificate: str | None = None
    bare: bool = False


@dataclass(frozen=True, kw_only=True)
class Command(Step):
    """The step that sends a command to the core (`!name field=value`). On other stages only a super user's requests can stand for it."""

    name: str
    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, kw_only=True)
class Mark(Step):
    """The step that remembers the current time under a name, to which later steps refer by `since`."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Let(Step):
    """The step that gives a value a name, to which later steps refer."""

    name: str
    value: Expr


@dataclass
class Exchange:
    """A scripted dialogue of members with a broker. `rows` are the statements that it proves and `needs` are requirements that not every
    broker meets (NEEDS).

    `parameters` maps names to the values to expand over. `own` has the topics that no other dialogue shares, with their configs.
    """

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
        """Return the requirements of the exchange that the core does not meet."""
        return tuple(need for need in self.needs if need not in SERVED)

    @property
    def wanted_settings(self) -> dict[str, str]:
        """Return the settings that the exchange needs a broker to have, by Kafka's names."""
        consumers = CONSUMER_SETTINGS if "kip848" in self.needs else {}
        shares = SHARE_SETTINGS if "share" in self.needs else {}
        return {**BASE_SETTINGS, **consumers, **shares, **self.of_authorizer, **self.settings}

    @property
    def of_authorizer(self) -> dict[str, str]:
        """Return the settings of the authorizer that the exchange needs, if it needs one."""
        return AUTHORIZER_SETTINGS if "authorizer" in self.needs else {}

    @property
    def listeners(self) -> tuple[str, ...]:
        """Return the names of the listeners to which members connect."""
        return tuple(dict.fromkeys(step.listener for step in self.steps if isinstance(step, Connect)))

    def variants(self) -> Iterator[Variant]:
        """Yield one dialogue per combination of parameter values."""
        for values in product(*self.parameters.values()):
            yield Variant(self, dict(zip(self.parameters, values, strict=True)))


@dataclass(frozen=True)
class Variant:
    """An exchange whose parameters have values."""

    exchange: Exchange
    parameters: dict[str, int]

    @property
    def name(self) -> str:
        """Return the dialogue's name, `NAME` or `NAME[v=5]`, which is unique in a suite."""
        inner = ",".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.exchange.name}[{inner}]" if inner else self.exchange.name
