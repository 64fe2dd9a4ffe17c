"""The scenarios and the protocols as data, and the assessments that the table "Characteristics" of the document on the designs gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .play import (
    BY_BROKER,
    STREAMS,
    STREAMS_CLASSIC,
    AwaitNoticed,
    AwaitSettled,
    Grow,
    Kill,
    Protocol,
    Return,
    Roll,
    Scenario,
    Sizes,
    Speaks,
    Start,
    Stop,
    Subscribe,
    Unsupported,
    Upgrade,
    WaitDelayFraction,
    Who,
)

PROCESS_DEATH: Final = "Kubernetes process death"
ROLLING_BOUNCE: Final = "Rolling bounce"
SCALE: Final = "Scale up/down"

WORDS: Final = {
    (PROCESS_DEATH, "design-1"): "IMPROVED", (PROCESS_DEATH, "design-2"): "YES", (PROCESS_DEATH, "design-3"): "YES",
    (ROLLING_BOUNCE, "design-1"): "IMPROVED", (ROLLING_BOUNCE, "design-2"): "YES", (ROLLING_BOUNCE, "design-3"): "YES",
    (SCALE, "design-1"): "YES", (SCALE, "design-2"): "YES", (SCALE, "design-3"): "YES",
}  # fmt: skip
"""Maps (line, protocol) to the assessment in the table "Characteristics" of the document on the designs."""

SCENARIOS: Final = (
    Scenario(
        "death-at-once",
        "A process is killed and started again at once, before its session has ended and the broker has noticed.",
        (Kill(Who.FOLLOWER), Return(), AwaitSettled()),
        row=PROCESS_DEATH,
        in_time=True,
    ),
    Scenario(
        "death-in-time",
        "A process is killed, and after its session has ended it is started again, well before the delay is over.",
        (Kill(Who.FOLLOWER), AwaitNoticed(), WaitDelayFraction(0.25), Return(), AwaitSettled()),
        row=PROCESS_DEATH,
        in_time=True,
    ),
    Scenario(
        "death-too-late",
        "A process is killed and started again after the delay, when the other members own its partitions.",
        (Kill(Who.FOLLOWER), AwaitSettled(), Return(), AwaitSettled()),
        row=PROCESS_DEATH,
    ),
    Scenario(
        "rolling-bounce",
        "Every process in turn is stopped and, when the group continues without it, started again; the next one follows when the group "
        "is stable.",
        (Roll(),),
        row=ROLLING_BOUNCE,
        in_time=True,
    ),
    Scenario("scale-up", "New processes join the group.", (Start(), AwaitSettled()), row=SCALE),
    Scenario("scale-down", "Some processes leave the group for good.", (Stop(Who.NEWEST), AwaitSettled()), row=SCALE),
    Scenario(
        "leader-exit",
        "A process is killed, and while its partitions are reserved for it the leader leaves for good.",
        (Kill(Who.FOLLOWER), AwaitNoticed(), WaitDelayFraction(0.25), Stop(Who.LEADER), AwaitSettled()),
        least=3,
    ),
    Scenario(
        "second-loss",
        "A process is killed, and while its partitions are reserved for it a second process is killed; the first one comes back in time.",
        (
            *(Kill(Who.FOLLOWER), AwaitNoticed(), WaitDelayFraction(0.2)),
            *(Kill(Who.FOLLOWER), AwaitNoticed(), Return(Who.FIRST_GONE), AwaitSettled()),
        ),
        least=3,
    ),
    Scenario("new-subscription", "All members subscribe to a second topic as well.", (Subscribe(), AwaitSettled())),
    Scenario("partition-growth", "The topic gets twice as many partitions.", (Grow(2), AwaitSettled())),
    Scenario(
        "mixed-upgrade",
        "The members change from range to the measured protocol by rolling restarts, as the protocol requires.",
        (Upgrade(), AwaitSettled()),
        starts=Speaks.PLAIN,
    ),
)

TOUR: Final = Scenario(
    "tour",
    "New processes join, one is killed, one leaves: `groupmock demo` plays it with members of two libraries and tells what happens.",
    (Start(), AwaitSettled(), Kill(Who.FOLLOWER), AwaitSettled(), Stop(Who.FOLLOWER), AwaitSettled()),
    cast=("ada", "ben", "cleo", "dana", "eli"),
)
"""The scenario of the demo, which is not measured."""

_NOT_BESIDE_RANGE: Final = "librdkafka and kafka-python refuse a list of eager and cooperative assignors"
_NOT_RANGE: Final = "it is range"
_NOT_TWIN: Final = "a twin has a cooperative assignor alone"
_NOT_MIXED: Final = "members of both protocols are not measured"
_NOT_STREAMS: Final = "an instance of Kafka Streams has no other assignor"
_ONE: Final = (Speaks.BOTH,)

KAFKA_STREAMS: Final = "kafka-streams"
JAVA_CLIENTS: Final = (KAFKA_STREAMS, "connect")
"""The clients that are Java programs."""

LIVE: Final = (
    Protocol("range", "aiokafka", (), _NOT_RANGE),
    Protocol("range", "kafka-python", (), _NOT_RANGE),
    Protocol("cooperative-sticky", "kafka-python", (), _NOT_BESIDE_RANGE),
    Protocol("cooperative-sticky", "confluent-kafka", (), _NOT_BESIDE_RANGE),
    *(
        each
        for design in ("design-1", "design-2", "design-3")
        for each in (
            Protocol(design, "aiokafka", _ONE),
            Protocol(design, "kafka-python"),
            Protocol(design, "aiokafka-twin", (), _NOT_TWIN),
            Protocol(design, "kafka-python-twin", (), _NOT_TWIN),
        )
    ),
    Protocol(BY_BROKER, "confluent-kafka", (), _NOT_MIXED),
    Protocol(STREAMS_CLASSIC, KAFKA_STREAMS, (), _NOT_STREAMS),
    Protocol(STREAMS, KAFKA_STREAMS, (), _NOT_STREAMS),
    Protocol("connect", "connect", (), "only process deaths are measured"),
)

TOUR_PROTOCOL: Final = Protocol(
    "default", "aiokafka", (), "nothing is measured of it", others=(("dana", "kafka-python"), ("eli", "kafka-python"))
)

VIRTUAL: Final = (
    Protocol("range", "scripted", (), _NOT_RANGE),
    Protocol("cooperative-sticky", "scripted"),
    Protocol(BY_BROKER, "scripted", (), _NOT_MIXED),
    Protocol(STREAMS_CLASSIC, "scripted", (), _NOT_STREAMS),
    Protocol(STREAMS, "scripted", (), _NOT_STREAMS),
    *(
        each
        for design in ("design-1", "design-2", "design-3")
        for each in (Protocol(design, "scripted"), Protocol(design, "scripted-twin", (), _NOT_TWIN))
    ),
)


def scenario(name: str) -> Scenario:
    """Return the scenario of that name. Raises LookupError with the known names."""
    every = (*SCENARIOS, TOUR)
    found = next((each for each in every if each.name == name), None)
    if found is None:
        raise LookupError(f"no scenario {name!r}: there are {', '.join(each.name for each in every)}")
    return found


def protocols(stage: str, named: str | None = None) -> tuple[Protocol, ...]:
    """Return the protocols of a stage (live or virtual) that match `NAME` or `NAME/CLIENT`, or all. Raises LookupError with the known
    names."""
    every = LIVE if stage == "live" else VIRTUAL
    found = tuple(each for each in every if named is None or named in (each.name, str(each)))
    if not found:
        raise LookupError(f"no protocol {named!r} on the {stage} stage: there are {', '.join(map(str, every))}")
    return found


def virtual_twin(protocol: Protocol) -> Protocol:
    """Return the scripted protocol that corresponds to a protocol of stock clients. Raises Unsupported if there is none."""
    if not any(each.name == protocol.name for each in VIRTUAL):
        raise Unsupported(f"{protocol.name} has no scripted members")
    return Protocol(protocol.name, "scripted-twin" if protocol.twin else "scripted", protocol.bounces, protocol.no_upgrade)


def fitting(sizes: Sizes, protocol: Protocol) -> Sizes:
    """Return the sizes to use with a protocol. Kafka Connect and Kafka Streams get longer times, because Java on a busy machine is slow,
    and at most three workers or four instances."""
    if protocol.client == KAFKA_STREAMS:
        return replace(
            sizes, members=min(sizes.members, 4), change=1, session_ms=max(sizes.session_ms, 10_000),
            heartbeat_ms=max(sizes.heartbeat_ms, 500),
        )  # fmt: skip
    if protocol.name != "connect":
        return sizes
    return replace(
        sizes, members=min(sizes.members, 3), change=1, session_ms=max(sizes.session_ms, 6000), heartbeat_ms=max(sizes.heartbeat_ms, 500),
        delay_ms=max(sizes.delay_ms, 25_000),
    )  # fmt: skip


def plays(stage_scenario: Scenario, protocol: Protocol) -> bool:
    """Tell whether this scenario is measured with this protocol."""
    if protocol.name == "connect":
        return stage_scenario.row == PROCESS_DEATH
    if protocol.name in (STREAMS, STREAMS_CLASSIC):
        return bool(stage_scenario.row)  # A topology in use cannot change, nor can the number of its tasks.
    if protocol.name == BY_BROKER and Stop(Who.LEADER) in stage_scenario.steps:
        return False  # A group whose broker assigns the partitions has no leader that could be stopped.
    return bool(protocol.bounces) or Upgrade() not in stage_scenario.steps
