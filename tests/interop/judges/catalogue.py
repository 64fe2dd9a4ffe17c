"""Who judges: every client of the matrix, its releases, how it is built, what it can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import building
from .building import Program

Command = Callable[[Path], list[str]]


@dataclass(frozen=True)
class Judge:
    """One row of the matrix.

    `kind`: group, consumer (KIP-848), streams, transactions or connect; `static`: whether the client knows group.instance.id; `default`:
    judged under the default profile too; `guarantee`: processing.guarantee of Streams; `live`: how much of it `make live` does ("" nothing,
    short: without what waits for sessions, full).
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


NEW_PYTHONS = "python3.11|python3.12|python3.13"
JAVA, GO = "members/shared/java", "members/shared/go"


def _python(library: str, release: str, assignor: str, *, pythons: str = NEW_PYTHONS, static: bool = True, default: bool = False,
            live: str = "", note: str = "") -> Judge:
    build = building.virtual_environment(pythons, f"{library}=={release}")
    program = Program(f"python-{library}-{release}", None, (pythons,), build, pythons)
    script = str(building.HERE / "members" / "python" / "member.py")
    return Judge(f"{library} {release}, {assignor}", program, lambda where: [str(where / "venv/bin/python"), script, library], assignor,
                 static, default=default, live=live, note=note)


def _of_the_new_protocol(judge: Judge) -> Judge:
    """The same client with `group.protocol=consumer` (KIP-848)."""
    name = f"{judge.name.partition(',')[0]}, consumer protocol"
    return replace(judge, name=name, assignor="uniform", kind="consumer", default=True, live="full")


def java_program(release: str) -> Program:
    """The programs of members/java with that release of kafka-clients."""
    return Program(f"member-java-{release}", "members/java", ("java", "mvn"), building.maven(release), release, JAVA)


def _java(release: str, assignor: str, default: bool = False) -> Judge:
    program = java_program(release)
    return Judge(f"Java consumer {release}, {assignor}", program,
                 lambda where: building.java(where, "groupmock.interop.Member"), assignor, default=default)


def _transactions(release: str) -> Judge:
    program = java_program(release)
    return Judge(f"Java {release}, transactions", program, lambda where: building.java(where, "groupmock.interop.Ordered"), "range",
                 kind="transactions", default=True, live="full")


def driver(where: Path) -> list[str]:
    """Of a Go program."""
    return [str(where / "driver")]


FRANZ = Program("member-franz-go", "members/franz-go", ("go",), building.go, shared=GO)
SARAMA = Program("member-sarama", "members/sarama", ("go",), building.go, shared=GO)
KAFKAJS = Program("member-kafkajs", "members/kafkajs", ("node", "npm"), building.npm)
PLATFORMATIC = Program("member-platformatic", "members/platformatic", ("node", "npm"), building.npm)
_STREAMS = Program("member-streams-4.3.0", "members/streams", ("java", "mvn"), building.maven("4.3.0"), "4.3.0", JAVA)
_CONNECT = Program("connect-4.3.0", "members/connect", ("java", "mvn"), building.maven("4.3.0", "validate"), "4.3.0")

JUDGES = (
    _python("aiokafka", "0.10.0", "range", live="short"),
    _python("aiokafka", "0.12.0", "roundrobin", live="short"),
    _python("aiokafka", "0.14.0", "range", default=True),
    _python("kafka-python", "2.0.2", "range", pythons="python3.11|python3.10|python3.9", static=False, live="short",
            note="the release does not run on Python 3.12 or newer, and has no group.instance.id"),
    _python("kafka-python", "2.2.15", "roundrobin", static=False, live="short", note="the release has no group.instance.id"),
    _python("kafka-python", "3.0.12", "range", default=True),
    _python("kafka-python", "3.0.12", "cooperative-sticky"),
    _python("confluent-kafka", "1.9.2", "range", pythons="python3.10|python3.9|python3.8", live="short",
            note="the release has no wheel for Python 3.11 or newer"),
    _python("confluent-kafka", "2.3.0", "roundrobin", live="short"),
    _python("confluent-kafka", "2.16.1", "range", default=True),
    _python("confluent-kafka", "2.16.1", "cooperative-sticky"),
    _of_the_new_protocol(_python("confluent-kafka", "2.16.1", "range")),
    Judge("KafkaJS 2.2.4, RoundRobinAssigner", KAFKAJS, lambda where: ["node", str(where / "member.js")], "RoundRobinAssigner",
          static=False, default=True, note="the library has no group.instance.id"),
    Judge("@platformatic/kafka 1.35.0, roundrobin", PLATFORMATIC, lambda where: ["node", str(where / "member.mjs")], "roundrobin",
          default=True, live="full",
          note="hands on what a fetch parked before a rebalance brings of partitions lost since, on Kafka as on groupmock"),
    Judge("franz-go 1.21.6, range", FRANZ, driver, "range"),
    Judge("franz-go 1.21.6, cooperative-sticky", FRANZ, driver, "cooperative-sticky", default=True),
    Judge("sarama 1.61.1, range", SARAMA, driver, "range", default=True, live="full"),
    Judge("sarama 1.61.1, sticky", SARAMA, driver, "sticky"),
    *(_java(release, assignor, default=(release, assignor) == ("4.3.0", "range"))
      for release in ("2.8.2", "3.9.1", "4.3.0") for assignor in ("range", "cooperative-sticky")),
    _of_the_new_protocol(_java("4.3.0", "range")),
    Judge("Kafka Streams 4.3.0, two instances", _STREAMS, lambda where: building.java(where, "groupmock.interop.Member"), "stream",
          kind="streams", default=True, live="full"),
    Judge("Kafka Streams 4.3.0, exactly_once_v2", _STREAMS, lambda where: building.java(where, "groupmock.interop.Member"), "stream",
          kind="streams", default=True, live="full", guarantee="exactly_once_v2"),
    _transactions("3.9.1"),
    _transactions("4.3.0"),
    Judge("Kafka Connect 4.3.0, three workers", _CONNECT,
          lambda where: building.java(where, "org.apache.kafka.connect.cli.ConnectDistributed", level="info"), "sessioned", static=False,
          kind="connect", default=True, live="full"),
)
