"""List every client of the matrix with its releases, how it is built, and what it can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import building
from .building import Program
from .stages import KAFKA, NEWEST

Command = Callable[[Path], list[str]]


@dataclass(frozen=True)
class Judge:
    """A row of the matrix.

    `kafka`: the release of Apache Kafka that judges it beside the profile of that release, the newest for the newest release of a client;
    `kind`: group, consumer (KIP-848), streams, streams group (KIP-1071), transactions or connect; `static`: whether the client knows
    group.instance.id; `default`: judged under the default profile too; `guarantee`: processing.guarantee of Streams; `live`: how much of
    it `make live` does ("" nothing, short: without what waits for sessions, full).
    """

    name: str
    program: Program
    command: Command
    assignor: str
    static: bool = True
    kind: str = "group"
    default: bool = False
    live: str = ""
    note: str = ""
    guarantee: str = "at_least_once"
    kafka: str = NEWEST

    @property
    def brokers(self) -> tuple[str, ...]:
        """The brokers that the row is judged on, Kafka first."""
        minor = self.kafka.rpartition(".")[0]
        return (f"kafka-{minor}", f"groupmock-{minor}", *(("groupmock",) if self.default else ()))


NEW_PYTHONS = "python3.11|python3.12|python3.13"
JAVA, GO = "members/shared/java", "members/shared/go"


def _python(library: str, release: str, assignor: str, *, pythons: str = NEW_PYTHONS, static: bool = True, default: bool = False,
            live: str = "", note: str = "", kafka: str = NEWEST, extra: str = "") -> Judge:
    build = building.virtual_environment(pythons, f"{library}{extra}=={release}")
    program = Program(f"python-{library}-{release}", None, (pythons,), build, pythons)
    script = str(building.HERE / "members" / "python" / "member.py")
    return Judge(f"{library} {release}, {assignor}", program, lambda where: [str(where / "venv/bin/python"), script, library], assignor,
                 static, default=default, live=live, note=note, kafka=kafka)


def _of_the_new_protocol(judge: Judge, default: bool = False) -> Judge:
    """The same client with `group.protocol=consumer` (KIP-848)."""
    name = f"{judge.name.partition(',')[0]}, consumer protocol"
    return replace(judge, name=name, assignor="uniform", kind="consumer", default=default, live="full")


def java_program(release: str) -> Program:
    """The programs of members/java with that release of kafka-clients."""
    return Program(f"member-java-{release}", "members/java", ("java", "mvn"), building.maven(release), release, JAVA)


def _judged_by(release: str) -> str:
    """The Kafka that judges Java's client of that release."""
    return NEWEST if release == NEWEST else KAFKA


def _java(release: str, assignor: str, default: bool = False) -> Judge:
    program = java_program(release)
    return Judge(f"Java consumer {release}, {assignor}", program,
                 lambda where: building.java(where, "groupmock.interop.Member"), assignor, default=default, kafka=_judged_by(release))


def _transactions(release: str) -> Judge:
    program = java_program(release)
    return Judge(f"Java {release}, transactions", program, lambda where: building.java(where, "groupmock.interop.Ordered"), "range",
                 kind="transactions", default=release == NEWEST, live="full", kafka=_judged_by(release))


def _streams(release: str, title: str, guarantee: str = "at_least_once", default: bool = False) -> Judge:
    program = Program(f"member-streams-{release}", "members/streams", ("java", "mvn"), building.maven(release), release, JAVA)
    return Judge(f"Kafka Streams {release}, {title}", program, lambda where: building.java(where, "groupmock.interop.Member"), "stream",
                 kind="streams", default=default, live="full", guarantee=guarantee, kafka=_judged_by(release))


def _of_the_streams_protocol(judge: Judge) -> Judge:
    """The same application with `group.protocol=streams` (KIP-1071)."""
    title = "streams protocol" if judge.guarantee == "at_least_once" else f"streams protocol, {judge.guarantee}"
    return replace(judge, name=f"{judge.name.partition(',')[0]}, {title}", kind="streams group", default=True)


def driver(where: Path) -> list[str]:
    """Return the command of a Go program."""
    return [str(where / "driver")]


FRANZ = Program("member-franz-go", "members/franz-go", ("go",), building.go, shared=GO)
SARAMA = Program("member-sarama", "members/sarama", ("go",), building.go, shared=GO)
KAFKAJS = Program("member-kafkajs", "members/kafkajs", ("node", "npm"), building.npm)
KAFKA_GO = Program("member-kafka-go", "members/kafka-go", ("go",), building.go, shared=GO)
KAFKA_JAVASCRIPT = Program("member-kafka-javascript", "members/kafka-javascript", ("node", "npm", "make", "g++"),
                           building.npm_with_binding)
PLATFORMATIC = Program("member-platformatic", "members/platformatic", ("node", "npm"), building.npm)


def _connect(release: str, note: str = "") -> Judge:
    program = Program(f"connect-{release}", "members/connect", ("java", "mvn"), building.maven(release), release,
                      "members/connect-4.4" if release == NEWEST else None)
    return Judge(f"Kafka Connect {release}, three workers", program,
                 lambda where: building.java(where, "org.apache.kafka.connect.cli.ConnectDistributed", level="info"), "sessioned",
                 static=False, kind="connect", default=release == NEWEST, live="full" if release == NEWEST else "", note=note,
                 kafka=_judged_by(release))


JUDGES = (
    _python("aiokafka", "0.10.0", "range", live="short", kafka=KAFKA),
    _python("aiokafka", "0.12.0", "roundrobin", live="short", kafka=KAFKA),
    _python("aiokafka", "0.14.0", "range", default=True),
    _python("kafka-python", "2.0.2", "range", pythons="python3.11|python3.10|python3.9", static=False, live="short", kafka=KAFKA,
            note="the release does not run on Python 3.12 or newer, and has no group.instance.id"),
    _python("kafka-python", "2.2.15", "roundrobin", static=False, live="short", kafka=KAFKA,
            note="the release has no group.instance.id"),
    _python("kafka-python", "3.0.12", "range", default=True),
    _python("kafka-python", "3.0.12", "cooperative-sticky"),
    _python("confluent-kafka", "1.9.2", "range", pythons="python3.10|python3.9|python3.8", live="short", kafka=KAFKA,
            note="the release has no wheel for Python 3.11 or newer"),
    _python("confluent-kafka", "2.3.0", "roundrobin", live="short", kafka=KAFKA),
    _python("confluent-kafka", "2.16.1", "range", default=True),
    _python("confluent-kafka", "2.16.1", "cooperative-sticky"),
    _of_the_new_protocol(_python("confluent-kafka", "2.16.1", "range"), default=True),
    _python("faststream", "0.7.8", "roundrobin", default=True, extra="[kafka]", note="a framework on aiokafka"),
    _python("quixstreams", "3.28.1", "range", default=True, note="a framework on confluent-kafka, which commits by itself"),
    Judge("KafkaJS 2.2.4, RoundRobinAssigner", KAFKAJS, lambda where: building.node(where, "member.js"), "RoundRobinAssigner",
          static=False, default=True, note="the library has no group.instance.id"),
    Judge("@confluentinc/kafka-javascript 1.10.1, range", KAFKA_JAVASCRIPT, lambda where: building.node(where, "member.js"),
          "range", default=True),
    Judge("@platformatic/kafka 2.12.1, roundrobin", PLATFORMATIC, lambda where: building.node(where, "member.mjs"), "roundrobin",
          default=True, live="full",
          note="hands on what a fetch parked before a rebalance brings of partitions lost since, on Kafka as on groupmock"),
    Judge("franz-go 1.22.3, range", FRANZ, driver, "range"),
    Judge("franz-go 1.22.3, cooperative-sticky", FRANZ, driver, "cooperative-sticky", default=True),
    Judge("sarama 1.61.1, range", SARAMA, driver, "range", default=True, live="full"),
    Judge("sarama 1.61.1, sticky", SARAMA, driver, "sticky"),
    Judge("kafka-go 0.4.51, range", KAFKA_GO, driver, "range", static=False, default=True, note="the library has no group.instance.id"),
    *(_java(release, assignor, default=(release, assignor) == (NEWEST, "range"))
      for release in ("2.8.2", "3.9.1", KAFKA, NEWEST) for assignor in ("range", "cooperative-sticky")),
    _of_the_new_protocol(_java(KAFKA, "range")),
    _of_the_new_protocol(_java(NEWEST, "range"), default=True),
    _streams(NEWEST, "two instances"),
    _streams(NEWEST, "exactly_once_v2", "exactly_once_v2", default=True),
    _streams(KAFKA, "exactly_once_v2", "exactly_once_v2"),
    _of_the_streams_protocol(_streams(NEWEST, "two instances")),
    _of_the_streams_protocol(_streams(NEWEST, "exactly_once_v2", "exactly_once_v2")),
    _transactions("3.9.1"),
    _transactions(KAFKA),
    _transactions(NEWEST),
    _connect(KAFKA),
    _connect(NEWEST, "workers of 4.4.0 with the file connector of 4.3.0, because the registry has no connect-file 4.4.0"),
)
