"""Tools of administrators against a broker: kcat, Kafka's shell tools, admin clients of libraries, a web UI; call by call.

The same calls, with the same expectations, are made of Apache Kafka: what it does not give is no expectation.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import building, catalogue
from .building import Program, built
from .stages import KAFKA, ROOT

RECORD = ROOT / "tools" / "records" / "admin-tools.json"
LONGEST_S = 90.0
SAID = 120
TOOLS = "org.apache.kafka.tools"
SHELL = Program(f"shell-tools-{KAFKA}", "administrators/shell", ("java", "mvn"), building.maven(KAFKA, "validate"), KAFKA)
SARAMA = Program("administrator-sarama", "administrators/sarama", ("go",), building.go)
KAFKA_PYTHON = "kafka-python==3.0.12"
VIEWER = "kafka-viewer==0.4.0"


@dataclass(frozen=True)
class Call:
    """One call of a tool: its words, and a regular expression that its output must match. `code`: its exit code."""

    tool: str
    words: tuple[str, ...]
    says: str
    code: int = 0
    stdin: str = ""


@dataclass(frozen=True)
class Done:
    """What became of a call."""

    tool: str
    call: str
    ok: bool
    said: str


KCAT = (
    Call("kcat", ("-P", "-t", "orders", "-p", "0"), "", stdin="a\nb\nc\n"),
    Call("kcat", ("-L",), r"topic \"orders\" with 2 partitions"),
    Call("kcat", ("-L", "-J", "-t", "orders"), r'"topic":"orders"'),
    Call("kcat", ("-C", "-t", "orders", "-p", "0", "-o", "beginning", "-e", "-q"), r"^a\nb\nc$"),
    Call("kcat", ("-Q", "-t", "orders:0:-1"), r"orders \[0\] offset 3"),
    Call("kcat", ("-G", "kcats", "-o", "beginning", "-e", "-q", "orders"), r"a\nb\nc"),
)
_G = "kafka-consumer-groups.sh"
_R = ("--group", "desk", "--topic", "orders", "--reset-offsets")
SCRIPTS: dict[str, str] = {
    "kafka-topics.sh": f"{TOOLS}.TopicCommand",
    "kafka-console-producer.sh": f"{TOOLS}.ConsoleProducer",
    "kafka-console-consumer.sh": f"{TOOLS}.consumer.ConsoleConsumer",
    "kafka-consumer-groups.sh": f"{TOOLS}.consumer.group.ConsumerGroupCommand",
    "kafka-groups.sh": f"{TOOLS}.GroupsCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-get-offsets.sh": f"{TOOLS}.GetOffsetShell",
    "kafka-transactions.sh": f"{TOOLS}.TransactionsCommand",
    "kafka-acls.sh": f"{TOOLS}.AclCommand",
    "kafka-log-dirs.sh": f"{TOOLS}.LogDirsCommand",
    "kafka-features.sh": f"{TOOLS}.FeatureCommand",
    "kafka-metadata-quorum.sh": f"{TOOLS}.MetadataQuorumCommand",
    "kafka-leader-election.sh": f"{TOOLS}.LeaderElectionCommand",
    "kafka-reassign-partitions.sh": f"{TOOLS}.reassign.ReassignPartitionsCommand",
    "kafka-delete-records.sh": f"{TOOLS}.DeleteRecordsCommand",
    "kafka-broker-api-versions.sh": f"{TOOLS}.BrokerApiVersionsCommand",
    "kafka-cluster.sh": f"{TOOLS}.ClusterTool",
}
"""Kafka's bin/ -> the class that it starts."""
SHELL_CALLS = (
    Call("kafka-topics.sh", ("--create", "--topic", "orders", "--partitions", "2"), "Created topic orders"),
    Call("kafka-topics.sh", ("--list",), "^orders$"),
    Call("kafka-topics.sh", ("--describe", "--topic", "orders"), r"PartitionCount: 2[\s\S]*Leader: 1\s+Replicas: 1\s+Isr: 1"),
    Call("kafka-topics.sh", ("--describe", "--under-replicated-partitions"), r"\A\s*\Z"),
    Call("kafka-topics.sh", ("--alter", "--topic", "orders", "--partitions", "3"), ""),
    Call("kafka-console-producer.sh", ("--topic", "orders"), "", stdin="a\nb\nc\n"),
    Call(
        "kafka-console-consumer.sh",
        ("--topic", "orders", "--group", "desk", "--from-beginning", "--max-messages", "3"),
        "Processed a total of 3",
    ),
    Call(_G, ("--list",), "^desk$"),
    Call(_G, ("--list", "--state"), r"desk\s+Empty"),
    Call(_G, ("--list", "--type"), r"desk\s+Classic"),
    Call(_G, ("--describe", "--group", "desk"), r"desk\s+orders\s+\d+\s+\d+\s+\d+\s+0"),
    Call(_G, ("--describe", "--all-groups", "--offsets"), r"desk\s+orders"),
    Call(_G, ("--describe", "--group", "desk", "--members", "--verbose"), "has no active members"),
    Call(_G, ("--describe", "--group", "desk", "--state"), r"desk\s+\S+ \(1\)\s+Empty|desk[\s\S]*Empty"),
    Call(_G, (*_R, "--to-earliest", "--dry-run"), r"desk\s+orders\s+\d+\s+0"),
    Call(_G, (*_R, "--to-earliest", "--execute"), r"desk\s+orders\s+\d+\s+0"),
    Call(_G, (*_R, "--shift-by", "1", "--execute"), r"desk\s+orders"),
    Call(_G, (*_R, "--to-offset", "0", "--execute"), r"desk\s+orders\s+\d+\s+0"),
    Call(_G, (*_R, "--to-datetime", "2020-01-01T00:00:00.000", "--execute"), r"desk\s+orders\s+\d+\s+0"),
    Call(_G, (*_R, "--by-duration", "PT1H", "--execute"), r"desk\s+orders\s+\d+\s+0"),
    Call(_G, (*_R, "--to-current", "--execute"), r"desk\s+orders\s+\d+\s+0"),
    Call(_G, (*_R, "--to-latest", "--dry-run", "--export"), r'"desk"?,?"?orders|orders,\d,\d'),
    Call(_G, (*_R, "--to-latest", "--execute"), r"desk\s+orders"),
    Call(_G, ("--delete-offsets", "--group", "desk", "--topic", "orders"), r"orders\s+\d\s+Successful"),
    Call(_G, ("--delete", "--group", "desk"), "Deletion of requested consumer groups .* was successful"),
    Call("kafka-groups.sh", ("--list",), ""),
    Call(
        "kafka-configs.sh",
        ("--alter", "--entity-type", "topics", "--entity-name", "orders", "--add-config", "retention.ms=1000000"),
        "Completed updating config for topic orders",
    ),
    Call("kafka-configs.sh", ("--describe", "--entity-type", "topics", "--entity-name", "orders"), "retention.ms=1000000"),
    Call(
        "kafka-configs.sh",
        ("--alter", "--entity-type", "topics", "--entity-name", "orders", "--delete-config", "retention.ms"),
        "Completed updating config for topic orders",
    ),
    Call("kafka-configs.sh", ("--describe", "--all", "--entity-type", "brokers", "--entity-name", "1"), "log.retention.hours"),
    Call(
        "kafka-configs.sh",
        ("--alter", "--entity-type", "brokers", "--entity-default", "--add-config", "log.retention.ms=7200000"),
        "Completed updating default config for brokers",
    ),
    Call(
        "kafka-configs.sh",
        ("--alter", "--entity-type", "users", "--entity-name", "ann", "--add-config", "producer_byte_rate=1024"),
        "Completed updating config for user ann",
    ),
    Call("kafka-configs.sh", ("--describe", "--entity-type", "users", "--entity-name", "ann"), "producer_byte_rate=1024"),
    Call(
        "kafka-configs.sh",
        ("--alter", "--entity-type", "clients", "--entity-default", "--add-config", "consumer_byte_rate=2048"),
        "Completed updating default config for clients",
    ),
    Call("kafka-configs.sh", ("--describe", "--entity-type", "clients"), "consumer_byte_rate=2048"),
    Call(
        "kafka-configs.sh",
        ("--alter", "--entity-type", "ips", "--entity-name", "127.0.0.9", "--add-config", "connection_creation_rate=5"),
        "Completed updating config for ip 127.0.0.9",
    ),
    Call("kafka-configs.sh", ("--describe", "--entity-type", "ips"), "connection_creation_rate=5"),
    Call("kafka-configs.sh", ("--describe", "--entity-type", "client-metrics"), r"\A(?![\s\S]*Error)[\s\S]*\Z"),
    Call("kafka-get-offsets.sh", ("--topic", "orders"), "orders:0:"),
    Call("kafka-get-offsets.sh", ("--topic", "orders", "--time", "earliest"), "orders:0:0"),
    Call("kafka-get-offsets.sh", ("--topic", "orders", "--time", "max-timestamp"), "orders:"),
    Call("kafka-transactions.sh", ("list",), r"TransactionalId\s+Coordinator"),
    Call("kafka-transactions.sh", ("find-hanging", "--broker-id", "1"), r"Topic\s+Partition"),
    Call("kafka-acls.sh", ("--list",), "No Authorizer is configured on the broker", code=1),
    Call(
        "kafka-acls.sh",
        ("--add", "--allow-principal", "User:ann", "--operation", "read", "--topic", "orders"),
        "No Authorizer is configured",
        code=1,
    ),
    Call("kafka-log-dirs.sh", ("--describe",), r'"error":null,"logDir":"[^"]+"'),
    Call("kafka-log-dirs.sh", ("--describe", "--topic-list", "orders"), r'"partition":"orders-0","size":[1-9]'),
    Call("kafka-features.sh", ("describe",), r"Feature: metadata.version\s+SupportedMinVersion: 3.3-IV3\s+SupportedMaxVersion: 4.3-IV0"),
    Call("kafka-features.sh", ("upgrade", "--feature", "metadata.version=30", "--dry-run"), "can be upgraded|was upgraded|is already"),
    Call("kafka-metadata-quorum.sh", ("describe", "--status"), r"LeaderId:\s+1[\s\S]*CurrentVoters"),
    Call("kafka-metadata-quorum.sh", ("describe", "--replication"), r"NodeId\s+[\s\S]*Leader"),
    Call(
        "kafka-leader-election.sh",
        ("--election-type", "preferred", "--topic", "orders", "--partition", "0"),
        "Valid replica already elected for partitions orders-0",
    ),
    Call("kafka-leader-election.sh", ("--election-type", "preferred", "--all-topic-partitions"), ""),
    Call("kafka-reassign-partitions.sh", ("--list",), "No partition reassignments found"),
    Call(
        "kafka-reassign-partitions.sh",
        ("--generate", "--topics-to-move-json-file", "{topics}", "--broker-list", "1"),
        "Proposed partition reassignment configuration",
    ),
    Call(
        "kafka-reassign-partitions.sh", ("--execute", "--reassignment-json-file", "{moves}"), "Successfully started partition reassignment"
    ),
    Call(
        "kafka-reassign-partitions.sh",
        ("--verify", "--reassignment-json-file", "{moves}"),
        "Reassignment of partition orders-0 is completed",
    ),
    Call("kafka-delete-records.sh", ("--offset-json-file", "{records}"), "low_watermark"),
    Call("kafka-broker-api-versions.sh", (), r"Fetch\(1\)"),
    Call("kafka-cluster.sh", ("cluster-id",), "Cluster ID: "),
    Call("kafka-cluster.sh", ("list-endpoints",), r"127.0.0.1\s+\d+"),
    Call("kafka-topics.sh", ("--delete", "--topic", "orders"), ""),
)
FILES = {
    "topics": {"topics": [{"topic": "orders"}], "version": 1},
    "moves": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}]},
    "records": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 0}]},
}
"""What some calls read."""


def shell_calls(bootstrap: str, where: Path) -> Iterator[Done]:
    """Kafka's own tools, each in a process of its own."""
    home = built(SHELL)
    files = {name: where / f"{name}.json" for name in FILES}
    for name, content in FILES.items():
        files[name].write_text(json.dumps(content))
    for call in SHELL_CALLS:
        words = [word.format(**files) if word.startswith("{") else word for word in call.words]
        first = (
            words[:1] if call.tool in ("kafka-cluster.sh", "kafka-transactions.sh", "kafka-features.sh", "kafka-metadata-quorum.sh") else []
        )
        server = ["--bootstrap-server", bootstrap]
        told = [*first, *server, *words[1:]] if call.tool == "kafka-cluster.sh" else [*server, *words]
        yield made(call, building.java(home, SCRIPTS[call.tool], *told))


def kcat_calls(bootstrap: str, where: Path) -> Iterator[Done]:
    """kcat; the topic is made first, of two partitions."""
    made(SHELL_CALLS[0], building.java(built(SHELL), SCRIPTS["kafka-topics.sh"], "--bootstrap-server", bootstrap, *SHELL_CALLS[0].words))
    for call in KCAT:
        # The words that -G takes come last
        mode, rest = call.words[:1], call.words[1:]
        yield made(call, ["kcat", "-b", bootstrap, *mode, *rest])
    made(SHELL_CALLS[-1], building.java(built(SHELL), SCRIPTS["kafka-topics.sh"], "--bootstrap-server", bootstrap, *SHELL_CALLS[-1].words))


def made(call: Call, command: Sequence[str]) -> Done:
    """Run it; what it says decides, with its exit code."""
    name = " ".join(call.words)
    try:
        done = subprocess.run(command, input=call.stdin, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return Done(call.tool, name, False, f"not done after {LONGEST_S:.0f} s")
    output = (done.stdout + done.stderr).strip()
    fine = done.returncode == call.code and re.search(call.says, output, re.MULTILINE) is not None
    return Done(call.tool, name, fine, _line(output, call.says) if fine else f"exit code {done.returncode}: {output[-SAID:]}")


def _line(output: str, says: str) -> str:
    """The line that was looked for, or the first."""
    lines = [line for line in output.splitlines() if says and re.search(says, line)] or output.splitlines()[:1]
    return lines[0][:SAID] if lines else ""


def program_calls(tool: str, command: Sequence[str]) -> Iterator[Done]:
    """A program that prints a line of JSON per call."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=4 * LONGEST_S, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        yield Done(tool, "all of it", False, f"not done after {4 * LONGEST_S:.0f} s")
        return
    for line in done.stdout.splitlines():
        if line.startswith('{"call"'):
            told: dict[str, Any] = json.loads(line)
            yield Done(tool, told["call"], told["ok"], told["said"][:SAID])
    if done.returncode:
        yield Done(tool, "to the end", False, f"exit code {done.returncode}: {done.stderr[-SAID:]}")


def _python(requirement: str, script: str) -> Callable[[str, Path], Iterator[Done]]:
    build = building.virtual_environment(catalogue.NEW_PYTHONS, requirement)
    program = Program(f"administrator-{requirement}", None, (catalogue.NEW_PYTHONS,), build, catalogue.NEW_PYTHONS)

    def calls(bootstrap: str, where: Path) -> Iterator[Done]:
        python = str(built(program) / "venv/bin/python")
        yield from program_calls(requirement.replace("==", " "), [python, str(building.HERE / "administrators/python" / script), bootstrap])

    return calls


def sarama_calls(bootstrap: str, where: Path) -> Iterator[Done]:
    """Sarama's ClusterAdmin."""
    yield from program_calls("sarama 1.61.1", [str(built(SARAMA) / "driver"), bootstrap])


ADMINISTRATORS: dict[str, tuple[tuple[str, ...], Callable[[str, Path], Iterator[Done]]]] = {
    "kcat": (("kcat", "java", "mvn"), kcat_calls),
    "shell": (("java", "mvn"), shell_calls),
    "kafka-python": ((), _python(KAFKA_PYTHON, "calls.py")),
    "sarama": (("go",), sarama_calls),
    "web": ((), _python(VIEWER, "web_ui.py")),
}
"""Name -> what it needs on the PATH, and its calls of a broker."""


def missing(name: str) -> list[str]:
    """What this machine lacks for it."""
    return [tool for tool in ADMINISTRATORS[name][0] if shutil.which(tool) is None]
