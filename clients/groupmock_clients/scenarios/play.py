"""The steps of a scenario, the interface of a stage, and `play`, which plays a scenario on any stage.

Members are named m0001, m0002, ... unless the scenario has a cast; the name is their client id, so a member id is that name, `-` and a UUID
(`groupmock.rounds.name_of`).

Stage and runner report to `measure` by `client` rows, beside the rows that the broker itself writes (times are the row's `t`):

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
"""The protocol by which the broker assigns partitions, to the members of a consumer group."""
STREAMS: Final = "kip-1071"
"""The protocol by which the broker assigns tasks, to the members of a streams group."""
STREAMS_CLASSIC: Final = "streams-classic"
"""The classic protocol with the assignor of Kafka Streams."""
TOPIC: Final = "orders"
SECOND_TOPIC: Final = "returns"

Row = Mapping[str, Any]
"""A journal row as a dict of its JSON."""


class Missed(Exception):
    """The group did not reach the state that the scenario waits for. The text says what was expected and what there is."""


class Unsupported(Exception):
    """This protocol, client or stage cannot play this scenario. The text says why."""


class Speaks(StrEnum):
    """The choice of assignors that a member process lists in its JoinGroup. `PLAIN`: range. `BOTH`: the protocol and range. `TARGET`:
    the protocol alone."""

    PLAIN = "plain"
    BOTH = "both"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Protocol:
    """The protocol by which the members of a run share partitions, and their client.

    `name` is range, cooperative-sticky, design-1, design-2, design-3, kip-848 (the broker assigns), streams-classic, kip-1071, connect, or
    default (the client's default assignors). `client` is aiokafka, kafka-python, confluent-kafka, aiokafka-twin, kafka-python-twin or
    connect, and scripted or scripted-twin on the virtual stage. `-twin` is a CooperativeConsumer, which delivers during a rebalance.
    `others` maps members to another client. `bounces` are the steps of a rolling upgrade from range, each a bounce of every member. Without
    them there is no such upgrade, and `no_upgrade` says why.
    """

    name: str
    client: str
    bounces: tuple[Speaks, ...] = (Speaks.BOTH, Speaks.TARGET)
    no_upgrade: str = ""
    others: tuple[tuple[str, str], ...] = ()

    @property
    def design(self) -> int:
        """Return the number of the cooperative design (1, 2 or 3), or 0 for any other protocol."""
        return int(self.name.removeprefix("design-")) if self.name.startswith("design-") else 0

    @property
    def twin(self) -> bool:
        """Tell whether the client is a CooperativeConsumer, which goes on delivering records during a rebalance."""
        return self.client.endswith("-twin")

    def __str__(self) -> str:
        return f"{self.name}/{self.client}"


LEAST: Final = {
    "members": 2, "partitions": 1, "change": 1, "heartbeat_ms": 1, "delay_ms": 1, "max_moves": 1, "move_interval_ms": 1, "startup_ms": 1,
    "metadata_ms": 1, "commit_ms": 1, "absence_ms": 0, "initial_delay_ms": 0, "rate": 0,
}  # fmt: skip
"""Maps each size to the least value that it may have."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes and times of a run. Times are in ms.

    `change`: members that a scale up or down adds or removes. `absence_ms`: time between stop and start of a bounced process. `startup_ms`:
    time to start a process (virtual only). `metadata_ms`: the clients' metadata refresh interval. `rate`: records per second and partition.
    Raises ValueError with the name of an impossible size.
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
        """Return the sizes as fields of a journal row."""
        return asdict(self)


class Who(StrEnum):
    """Selects the members on which a step acts, by their role. Among several the first name is taken."""

    LEADER = "leader"
    FOLLOWER = "follower"
    GONE = "gone"  # All members that were killed or stopped and are not back.
    FIRST_GONE = "first gone"  # The first of the members that were killed or stopped and are not back.
    ALL = "all"
    NEWEST = "newest"  # The `change` members that joined last.


@dataclass(frozen=True, slots=True)
class Start:
    """The step that starts as many new members as `change` says."""


@dataclass(frozen=True, slots=True)
class Kill:
    """The step that kills members with SIGKILL, so that nothing is committed and the session has to expire."""

    who: Who


@dataclass(frozen=True, slots=True)
class Stop:
    """The step that stops members cleanly: they commit and send LeaveGroup."""

    who: Who


@dataclass(frozen=True, slots=True)
class Return:
    """The step that starts the selected processes again under their old names."""

    who: Who = Who.GONE


@dataclass(frozen=True, slots=True)
class Roll:
    """The step that stops and restarts every member in turn, and waits for a settled group after each."""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The step that creates a second topic of the same size, and subscribes all members to both."""


@dataclass(frozen=True, slots=True)
class Grow:
    """The step that multiplies the topic's partitions by `times`."""

    times: int = 2


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The step that does every bounce of the protocol's rolling upgrade, each as in `Roll`."""


@dataclass(frozen=True, slots=True)
class AwaitNoticed:
    """The step that waits until the group is Stable with exactly the living members."""


@dataclass(frozen=True, slots=True)
class AwaitSettled:
    """The step that waits until the group is Stable, every partition has an owner, and no member has been asked to give partitions up or
    to rejoin later."""


@dataclass(frozen=True, slots=True)
class WaitDelayFraction:
    """The step that waits for this share of `delay_ms`."""

    share: float


Step = Start | Kill | Stop | Return | Roll | Subscribe | Grow | Upgrade | AwaitNoticed | AwaitSettled | WaitDelayFraction


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario as data; the module `catalogue` has all of them. `starts` is what the first members list. `row` is its line in the
    document's table.

    `in_time` says that every process is back before its delay is over. `least` is the minimum of members. `cast` names the first members.
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
    """A stage on which a scenario is played. Members are named. Every wait is bounded and raises `Missed`.

    A stage is made for one run by a context manager: `virtual.open_stage(sizes, protocol, journal)` or `live.open_stage(...)`. `journal` is
    the path of the file to keep, or None. The stage appends the `client` rows of members and producer itself.
    """

    kind: str
    """The kind of the stage: live or virtual."""

    def start(self, member: str, speaks: Speaks, topics: Sequence[str]) -> None:
        """Start a process, which joins by itself. Raises Unsupported."""

    def kill(self, member: str) -> None:
        """Kill a member, and return when it is dead."""

    def stop(self, member: str) -> None:
        """Let a member leave, and return when it has ended."""

    def subscribe(self, members: Sequence[str], topics: Sequence[str]) -> None:
        """Change the members' subscriptions, as simultaneously as possible."""

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic and produce to it from now on."""

    def grow(self, topic: str, partitions: int) -> None: ...

    def leader(self) -> str: ...

    def noticed(self, members: frozenset[str]) -> None:
        """Wait until the group is Stable with exactly these members (the condition of AwaitNoticed)."""

    def settled(self, members: frozenset[str]) -> None:
        """Wait until the group is settled: Stable, every partition owned, and no further rebalance pending (the condition of
        AwaitSettled)."""

    def wait(self, ms: float) -> None: ...

    def tell(self, client: str, what: str, fields: Mapping[str, Any]) -> None:
        """Append a `client` row to the journal."""

    def rows(self) -> list[Row]: ...


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """A played scenario with all its rows."""

    scenario: Scenario
    sizes: Sizes
    protocol: Protocol
    stage: str
    rows: Sequence[Row] = field(repr=False)


def play(scenario: Scenario, sizes: Sizes, protocol: Protocol, stage: ScenarioStage) -> ScenarioRun:
    """Start the group of a scenario, let it settle, and do the steps. Raises Missed, Unsupported."""
    if Upgrade() in scenario.steps and not protocol.bounces:
        raise Unsupported(f"{protocol} has no rolling upgrade from range: {protocol.no_upgrade}")
    if sizes.members < scenario.least:
        raise Unsupported(f"{scenario.name} needs at least {scenario.least} members, not {sizes.members}")
    _Play(scenario, sizes, protocol, stage).play()
    return ScenarioRun(scenario, sizes, protocol, stage.kind, stage.rows())


class _Play:
    """The state of a scenario that is being played: living members, absent members, topics."""

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
        self.stage.wait(self.sizes.commit_ms)  # The members get this time to commit the records received so far.
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
            # Without this wait chance would decide whether the member comes back before the rebalance ends.
            self.stage.noticed(frozenset(self.living))
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
