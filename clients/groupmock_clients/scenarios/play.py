"""One scenario, played on a stage: the words of a scenario, what a stage must be able to do, and `play`, the same for every stage.

Members are named m0001, m0002, ... unless the scenario has a cast; the name is their client id, so a member id is that name, `-` and a
UUID (`groupmock.rounds.name_of`).

`client` rows, the only channel from stage and runner to `measure` beside what the broker itself writes (times are the row's `t`):

| client | what | fields | when |
|---|---|---|---|
| `runner` | `begin` | scenario, protocol, client, stage, sizes | the group has settled and is measured from here |
| `runner` | `step` | step, member | something is about to be done to the group |
| `runner` | `end` | | the group has settled again |
| `producer` | `produced` | topic, partition, first, last | acknowledged offsets, first and last included |
| a member | `started`, `killed`, `stopped` | | its process was started, is dead, ended after a clean leave |
| a member | `assigned`, `revoked`, `lost` | partitions: [[topic, number], ...] | its listener was told |
| a member | `delivered` | topic, partition, first, last | its application got these offsets |
| a member | `serves` | partitions | it delivers these from now on and no others (virtual: `delivered` comes when that changes) |
| a member | `connection` | client_id, port, role: `group` or `data` | which connection has its membership, which its records (twin) |
| a member | `asked` | reason | it called enforce_rebalance |
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final
from typing import Protocol as Interface

RUNNER: Final = "runner"
PRODUCER: Final = "producer"
GROUP: Final = "scenario"
BY_BROKER: Final = "kip-848"
"""The protocol by which the broker assigns: its members are of a consumer group."""
TOPIC: Final = "orders"
SECOND_TOPIC: Final = "returns"

Row = Mapping[str, Any]
"""A journal row as its JSON has it."""


class Missed(Exception):
    """The group did not get where the scenario wanted it in time. The text says what was wanted and what there is."""


class Unsupported(Exception):
    """This protocol, client or stage cannot play this scenario; the text says why."""


class Speaks(StrEnum):
    """What a process has in its list of assignors. `PLAIN`: range. `BOTH`: the protocol and range. `TARGET`: the protocol alone."""

    PLAIN = "plain"
    BOTH = "both"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the members of a run share out partitions, and what they are.

    `name`: range, cooperative-sticky, design-1, design-2, design-3, kip-848 (the broker assigns), connect; default: what the client
    lists when it is not told.
    `client`: aiokafka, kafka-python, confluent-kafka, aiokafka-twin, kafka-python-twin, connect; scripted and scripted-twin on the
    virtual stage; `others`: members that are another client, each with the one that it is. `bounces`: what a rolling upgrade from range
    goes through, one bounce of every member each; none: there is no such upgrade, and `no_upgrade` says why.
    """

    name: str
    client: str
    bounces: tuple[Speaks, ...] = (Speaks.BOTH, Speaks.TARGET)
    no_upgrade: str = ""
    others: tuple[tuple[str, str], ...] = ()

    @property
    def design(self) -> int:
        """1, 2 or 3; 0: none of the document's designs."""
        return int(self.name.removeprefix("design-")) if self.name.startswith("design-") else 0

    @property
    def twin(self) -> bool:
        """Does it go on delivering during a round?"""
        return self.client.endswith("-twin")

    def __str__(self) -> str:
        return f"{self.name}/{self.client}"


LEAST: Final = {
    "members": 2, "partitions": 1, "change": 1, "heartbeat_ms": 1, "delay_ms": 1, "max_moves": 1, "move_interval_ms": 1, "startup_ms": 1,
    "metadata_ms": 1, "commit_ms": 1, "absence_ms": 0, "initial_delay_ms": 0, "rate": 0,
}  # fmt: skip
"""The smallest value of each of the sizes."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large and how fast. Times are ms.

    `change`: members that a scale up or down adds or removes. `absence_ms`: how long a bounced process is away before it is started
    again. `startup_ms`: how long the start of a process takes (virtual; live ones take what they take). `metadata_ms`: how often
    clients ask for new metadata. `rate`: records per second and partition. ValueError names the one that makes no sense.
    """

    members: int = 4
    partitions: int = 12
    change: int = 1
    session_ms: int = 3000
    heartbeat_ms: int = 300
    delay_ms: int = 8000
    max_moves: int = 1
    move_interval_ms: int = 1000
    initial_delay_ms: int = 1000
    absence_ms: int = 500
    startup_ms: int = 1000
    metadata_ms: int = 1000
    commit_ms: int = 1000
    rate: float = 10.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name):g}: at least {least}")
        if self.change >= self.members:
            raise ValueError(f"change is {self.change}: below members, which is {self.members}")
        if self.heartbeat_ms >= self.session_ms:
            raise ValueError(f"heartbeat_ms is {self.heartbeat_ms}: below session_ms, which is {self.session_ms}")

    def as_fields(self) -> dict[str, Any]:
        """For a row."""
        return asdict(self)


class Who(StrEnum):
    """Members by their part; of several candidates the one whose name comes first."""

    LEADER = "leader"
    FOLLOWER = "follower"
    GONE = "gone"  # everybody who was killed or stopped and is not back
    FIRST_GONE = "first gone"  # of those the first
    ALL = "all"
    NEWEST = "newest"  # the last `change` names


@dataclass(frozen=True, slots=True)
class Start:
    """`change` new members start."""


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL: nobody says goodbye, the session has to end."""

    who: Who


@dataclass(frozen=True, slots=True)
class Stop:
    """A clean end: commit, LeaveGroup."""

    who: Who


@dataclass(frozen=True, slots=True)
class Return:
    """Processes of those names start again."""

    who: Who = Who.GONE


@dataclass(frozen=True, slots=True)
class Roll:
    """Every member in turn: stop, until the group is Stable without it, absence, start, until the group has settled."""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A second topic, with as many partitions, is made and everybody subscribes to both."""


@dataclass(frozen=True, slots=True)
class Grow:
    """The topic gets `times` as many partitions."""

    times: int = 2


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Every bounce of the protocol's rolling upgrade, as `Roll` does it."""


@dataclass(frozen=True, slots=True)
class AwaitNoticed:
    """Until the group is Stable with the members that live, and no others."""


@dataclass(frozen=True, slots=True)
class AwaitSettled:
    """The same, and every partition has an owner, nobody is asked to give anything up, and nobody waits for a time."""


@dataclass(frozen=True, slots=True)
class WaitDelayFraction:
    """This share of `delay_ms` passes."""

    share: float


Step = Start | Kill | Stop | Return | Roll | Subscribe | Grow | Upgrade | AwaitNoticed | AwaitSettled | WaitDelayFraction


@dataclass(frozen=True, slots=True)
class Scenario:
    """Data: the catalogue has them. `starts`: with what the first members start. `row`: the line of the document's table it belongs to.

    `in_time`: every process that goes is back before the delay is over. `least`: members that it needs. `cast`: names of the first members.
    """

    name: str
    about: str
    steps: tuple[Step, ...]
    row: str = ""
    starts: Speaks = Speaks.TARGET
    in_time: bool = False
    least: int = 2
    cast: tuple[str, ...] = ()


class ScenarioStage(Interface):
    """Where a scenario is played. Members are named; every wait is bounded and raises `Missed`.

    A stage is made for one run, `virtual.open_stage(sizes, protocol, journal)` or `live.open_stage(...)`, both context managers that
    yield a ScenarioStage (`journal`: the file to keep, a Path, or None), and appends the `client` rows of members and producer itself.
    """

    kind: str
    """live or virtual."""

    def start(self, member: str, speaks: Speaks, topics: Sequence[str]) -> None:
        """Start a process; it joins in its own time. Raises Unsupported."""

    def kill(self, member: str) -> None:
        """SIGKILL; returns when it is dead."""

    def stop(self, member: str) -> None:
        """Let it leave; returns when it has ended."""

    def subscribe(self, members: Sequence[str], topics: Sequence[str]) -> None:
        """Change their subscription, as near to the same time as can be."""

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic; records are produced to it from now on."""

    def grow(self, topic: str, partitions: int) -> None:
        """Raise its number of partitions."""

    def leader(self) -> str:
        """Who leads the group now."""

    def noticed(self, members: frozenset[str]) -> None:
        """See AwaitNoticed."""

    def settled(self, members: frozenset[str]) -> None:
        """See AwaitSettled."""

    def wait(self, ms: float) -> None:
        """Time passes."""

    def tell(self, client: str, what: str, fields: Mapping[str, Any]) -> None:
        """Append a `client` row."""

    def rows(self) -> list[Row]:
        """The whole journal so far."""


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """What was played and all that was seen."""

    scenario: Scenario
    sizes: Sizes
    protocol: Protocol
    stage: str
    rows: Sequence[Row] = field(repr=False)


def play(scenario: Scenario, sizes: Sizes, protocol: Protocol, stage: ScenarioStage) -> ScenarioRun:
    """Start the group, let it settle, do the steps. Raises Missed, Unsupported."""
    if Upgrade() in scenario.steps and not protocol.bounces:
        raise Unsupported(f"{protocol} has no rolling upgrade from range: {protocol.no_upgrade}")
    if sizes.members < scenario.least:
        raise Unsupported(f"{scenario.name} needs at least {scenario.least} members, not {sizes.members}")
    _Play(scenario, sizes, protocol, stage).play()
    return ScenarioRun(scenario, sizes, protocol, stage.kind, stage.rows())


class _Play:
    """Who lives, who is gone, and what is done next."""

    def __init__(self, scenario: Scenario, sizes: Sizes, protocol: Protocol, stage: ScenarioStage) -> None:
        self.scenario, self.sizes, self.protocol, self.stage = scenario, sizes, protocol, stage
        self.speaks = scenario.starts
        self.topics: tuple[str, ...] = (TOPIC,)
        self.living: list[str] = []
        self.gone: list[str] = []
        self.names = itertools.chain(scenario.cast, (f"m{number:04d}" for number in itertools.count(len(scenario.cast) + 1)))

    def play(self) -> None:
        self.stage.create(TOPIC, self.sizes.partitions)
        self.start(itertools.islice(self.names, self.sizes.members))
        self.settled()
        self.stage.wait(self.sizes.commit_ms)  # everybody has committed by then what the topic held before
        begin = {"scenario": self.scenario.name, "protocol": self.protocol.name, "client": self.protocol.client}
        self.stage.tell(RUNNER, "begin", {**begin, "stage": self.stage.kind, "sizes": self.sizes.as_fields()})
        for step in self.scenario.steps:
            self.do(step)
        self.stage.tell(RUNNER, "end", {})

    def do(self, step: Step) -> None:
        match step:
            case Start():
                self.start(itertools.islice(self.names, self.sizes.change))
            case Kill(who):
                self.end(self.chosen(who), self.stage.kill, "kill")
            case Stop(who):
                self.end(self.chosen(who), self.stage.stop, "stop")
            case Return(who):
                self.start(self.chosen(who))
            case Roll():
                self.roll(self.speaks)
            case Upgrade():
                for speaks in self.protocol.bounces:
                    self.roll(speaks)
            case Subscribe():
                self.subscribe()
            case Grow(times):
                self.mark("grow", TOPIC)
                self.stage.grow(TOPIC, self.sizes.partitions * times)
            case AwaitNoticed():
                self.stage.noticed(frozenset(self.living))
            case AwaitSettled():
                self.settled()
            case WaitDelayFraction(share):
                self.stage.wait(self.sizes.delay_ms * share)

    def chosen(self, who: Who) -> list[str]:
        match who:
            case Who.ALL:
                return list(self.living)
            case Who.GONE | Who.FIRST_GONE:
                return self.gone[:1] if who is Who.FIRST_GONE else list(self.gone)
            case Who.NEWEST:
                return sorted(self.living)[-self.sizes.change :]
        leader = self.stage.leader()
        return [leader] if who is Who.LEADER else [min(each for each in self.living if each != leader)]

    def mark(self, step: str, member: str) -> None:
        self.stage.tell(RUNNER, "step", {"step": step, "member": member})

    def start(self, names: Iterable[str]) -> None:
        for name in names:
            self.mark("start", name)
            self.stage.start(name, self.speaks, self.topics)
            self.living.append(name)
            if name in self.gone:
                self.gone.remove(name)

    def end(self, names: Iterable[str], how: Callable[[str], None], step: str) -> None:
        for name in names:
            self.mark(step, name)
            how(name)
            self.living.remove(name)
            self.gone.append(name)

    def roll(self, speaks: Speaks) -> None:
        self.speaks = speaks
        for name in sorted(self.living):
            self.end([name], self.stage.stop, "stop")
            self.stage.noticed(frozenset(self.living))  # else chance says whether it comes back within the same round
            self.stage.wait(self.sizes.absence_ms)
            self.start([name])
            self.settled()

    def subscribe(self) -> None:
        self.stage.create(SECOND_TOPIC, self.sizes.partitions)
        self.topics = (TOPIC, SECOND_TOPIC)
        self.mark("subscribe", SECOND_TOPIC)
        self.stage.subscribe(tuple(self.living), self.topics)

    def settled(self) -> None:
        self.stage.settled(frozenset(self.living))
