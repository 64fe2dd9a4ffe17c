"""Tests of clients' own suites, as their authors wrote them, pointed at a broker: those of transactions, librdkafka's of groups, and those
of share groups.

What a registry holds is fetched from there, pinned: franz-go's tests come with its module, librdkafka's with the sources in an npm package.
aiokafka's, KafkaJS's and confluent-kafka-python's stand in their repositories alone: GROUPMOCK_SUITES names a folder with a checkout of
each.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import building, catalogue
from .administrators import SHELL
from .building import BuildFailed, Program, built
from .stages import CONSUMERS, KAFKA, NEWEST, ROOT

RECORD = ROOT / "tools" / "records" / "suites.json"
SOURCES = "GROUPMOCK_SUITES"
LONGEST_S = 900.0
SAID = 160
TWO_PARTITIONS = {"num.partitions": "2", "group.initial.rebalance.delay.ms": "0"}
NODES = {**TWO_PARTITIONS, "default.replication.factor": "2"}


@dataclass(frozen=True)
class Outcome:
    """What became of a test. `said`: why it failed, in its own words."""

    test: str
    passed: bool
    said: str = ""


@dataclass(frozen=True)
class Suite:
    """Tests of a client. `tests(bootstrap, where)`: every one, `where` being an empty folder; `checkout`: a folder of its sources below
    GROUPMOCK_SUITES that it needs; `nodes`, `settings`: of the broker, as the suite's own set-up has them; `release`: of Kafka."""

    name: str
    tools: tuple[str, ...]
    tests: Callable[[str, Path], Iterator[Outcome]]
    nodes: int = 1
    settings: Mapping[str, str] = field(default_factory=lambda: TWO_PARTITIONS)
    checkout: str = ""
    release: str = KAFKA

    def lacks(self) -> str:
        """What this machine does not have, in a sentence; empty: nothing."""
        gone = [each for each in self.tools if shutil.which(each) is None]
        if gone:
            return f"not on the PATH: {', '.join(gone)}"
        if self.checkout and not (checkouts() / self.checkout).is_dir():
            return f"{SOURCES} names no folder with {self.checkout} in it, a checkout of {self.name}"
        return ""


def checkouts() -> Path:
    """Where sources lie that no registry has."""
    return Path(os.environ.get(SOURCES, "/nonexistent"))


def ran(command: Sequence[str], where: Path, **variables: str) -> str:
    """What a suite printed; its exit code says no more than that."""
    try:
        done = subprocess.run(command, cwd=where, env=os.environ | variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired as late:
        return f"{_text(late.stdout)}{_text(late.stderr)}\nnot done after {LONGEST_S:.0f} s"
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


def _text(said: Any) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said or ""


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:SAID] if lines else ""


# -- franz-go

# As suites/franz-go*/go.mod have them: a newer release is taken by a run of its tests on both brokers
FRANZ_GO, FRANZ_GO_SHARES = "franz-go 1.21.6", "franz-go 1.22.3, share groups"


def _go_tests(where: Path) -> None:
    building.tool(where, "go", "test", "-c", "-o", "suite", "github.com/twmb/franz-go/pkg/kgo")


def franz_go(bootstrap: str, where: Path) -> Iterator[Outcome]:
    """Read, transform, write: chains of consumers and transactional producers, with each balancer, of both group protocols."""
    yield from _franz_go("franz-go", "TestTxnEtl", bootstrap, where)


def franz_go_shares(bootstrap: str, where: Path) -> Iterator[Outcome]:
    """Chains of share groups that release, reject and lose members, acknowledgements at close, and the offsets of share groups."""
    yield from _franz_go("franz-go-shares", "TestShareGroup.*", bootstrap, where)


def _franz_go(folder: str, tests: str, bootstrap: str, where: Path) -> Iterator[Outcome]:
    home = built(Program(f"suite-{folder}", f"suites/{folder}", ("go",), _go_tests))
    command = [str(home / "suite"), "-test.v", "-test.run", f"^{tests}$", f"-test.timeout={LONGEST_S:.0f}s"]
    said = ran(command, where, KGO_SEEDS=bootstrap, KGO_TEST_RF="1", KGO_TEST_RECORDS="20000", KGO_TEST_UNSAFE="1")
    found = re.findall(r"^ *--- (PASS|FAIL): (\S+) ", said, re.MULTILINE)
    yield from (Outcome(name, word == "PASS") for word, name in sorted(found, key=lambda each: each[1]))
    if not found:
        yield Outcome(tests, False, _last(said))


# -- librdkafka

LIBRDKAFKA = "librdkafka 2.15.1"
RDKAFKA_TESTS = ("0090_idempotence", "0098_consumer_txn", "0103_transactions", "0129_fetch_aborted_msgs")
# Those that subscribe, assign or commit by a broker, and need no authorizer, no other scenario of topics and no script beside it. By
# numbers: TESTS knows no longer names.
RDKAFKA_GROUPS = ("0018", "0019", "0022", "0029", "0030", "0033", "0045", "0050", "0051", "0056", "0061", "0069", "0081", "0089", "0091",
                  "0093", "0099", "0102", "0112", "0113", "0122", "0130", "0137", "0140")
RDKAFKA_PARTS = {"0081": "ConsumerGroup"}  # the rest of the admin client's tests is none of groups
# What chance decides, on Apache Kafka as on groupmock. Its client does not always join again when subscribe() comes while it leaves; and
# 0118_commit_rebalance, left out above, takes for granted that its second consumer joins last and gives nothing up before its end.
RDKAFKA_BY_CHANCE = "0045_subscribe_many_updates"
RDKAFKA_TOOLS = ("npm", "make", "gcc")
CONFIGURE = ("./configure", "--disable-ssl", "--disable-sasl", "--disable-curl")
RAPIDJSON = Path("/usr/include/rapidjson/document.h")
RUN_CLASS = """#!/bin/sh
exec java -Xmx256m -cp "$CLASSPATH:$KAFKA_PATH/libs/*" "$@"
"""


def _rdkafka(where: Path) -> None:
    """Its library, and the one program that has all of its tests."""
    building.npm(where)
    sources = where / "node_modules/@confluentinc/kafka-javascript/deps/librdkafka"
    building.tool(sources, *CONFIGURE)
    building.tool(sources, "make", "-j2", "libs")
    building.tool(sources / "tests", "make", "-j2", "test-runner")


def _rdkafka_tests(bootstrap: str, where: Path) -> tuple[Path, dict[str, str]]:
    """The folder of its tests, and what they take from the environment."""
    flavour = "with rapidjson" if RAPIDJSON.is_file() else "without rapidjson"
    home = built(Program("suite-librdkafka", "suites/librdkafka", RDKAFKA_TOOLS, _rdkafka, flavour))
    config = where / "test.conf"
    config.write_text(f"metadata.broker.list={bootstrap}\ntest.topic.random=true\n")
    return home / "node_modules/@confluentinc/kafka-javascript/deps/librdkafka/tests", {
        "LD_LIBRARY_PATH": "../src:../src-cpp", "RDKAFKA_TEST_CONF": str(config), "BROKERS": bootstrap, "TEST_KAFKA_VERSION": KAFKA}


def _rdkafka_why(said: str) -> str:
    why = re.search(r'^.*### Test "([^"]+)" failed at .*\n(.*)', said, re.MULTILINE)
    return "" if why is None else f"{why[1]}: {why[2]}"[:SAID]


def _rdkafka_how(said: str) -> str:
    """With what a step is tried, without the client's own name, which has a number of the run."""
    how = re.sub(r"\S+#(producer|consumer)-\d+ ", "", said)
    return f" ({how})" if how else ""


def librdkafka(bootstrap: str, where: Path) -> Iterator[Outcome]:
    """A test is a process of its own: a failed one ends it by abort()."""
    tests, variables = _rdkafka_tests(bootstrap, where)
    # 0098 makes transactions with a Java program of its own, which it builds against a release's libs/ and starts by its bin/
    (where / "bin").mkdir()
    (where / "libs").symlink_to(built(SHELL) / "target/libs")
    script = where / "bin/kafka-run-class.sh"
    script.write_text(RUN_CLASS)
    script.chmod(0o755)
    for name in RDKAFKA_TESTS:
        said = ran(["./test-runner", "-p1", "-E"], tests, **variables, KAFKA_PATH=str(where), TESTS=name)
        if name == "0098_consumer_txn" and not RAPIDJSON.is_file():
            continue  # built without it, the test is empty
        steps = [f"{name}: {step}" for step in re.findall(r"\[ (do_\w+?):\d+[^\]]*: PASS ", said)]
        yield from (Outcome(step, True) for step in dict.fromkeys(steps))
        yield Outcome(name, f"Test {name} PASSED" in said, _rdkafka_why(said))


def librdkafka_groups(bootstrap: str, where: Path) -> Iterator[Outcome]:
    """With `group.protocol=consumer` (KIP-848), each number a process; `-L`: none that brings its own mock of a broker."""
    tests, variables = _rdkafka_tests(bootstrap, where)
    for number in RDKAFKA_GROUPS:
        part = {"SUBTESTS": RDKAFKA_PARTS[number]} if number in RDKAFKA_PARTS else {}
        said = ran(["./test-runner", "-p1", "-E", "-L"], tests, **variables, **part, TESTS=number, TEST_CONSUMER_GROUP_PROTOCOL="consumer")
        yield from (each for each in _rdkafka_outcomes(number, said) if not each.test.startswith(RDKAFKA_BY_CHANCE))


def _rdkafka_outcomes(number: str, said: str) -> Iterator[Outcome]:
    """Steps that passed, the tests of that number that passed, and those that did not."""
    steps = re.findall(r"\[(\w+) +/ *[\d.]+s\] \[ (\w+):\d+(?:: ([^\]]*?))?: PASS ", said)
    yield from (Outcome(f"{test}: {step}{_rdkafka_how(how)}", True) for test, step, how in dict.fromkeys(steps))
    passed = re.findall(r"=+ Test (\w+) PASSED =+", said)
    yield from (Outcome(test, True) for test in passed)
    failed = dict.fromkeys(re.findall(r'### Test "(\d\w+)', said)) or ({} if passed else {number: None})
    yield from (Outcome(test, False, _rdkafka_why(said) or _last(said)) for test in failed if test not in passed)


# -- aiokafka

AIOKAFKA = "aiokafka 0.14.0"
AIOKAFKA_NEEDS = ("aiokafka==0.14.0", "pytest==9.0.2", "pytest-asyncio==1.3.0", "pytest-mock==3.15.1", "docker==7.1.0", "cramjam==2.11.0")
AIOKAFKA_TESTS = ("tests/test_transactional_producer.py", "tests/test_transactional_consumer.py")


def _aiokafka(where: Path) -> None:
    building.virtual_environment(catalogue.NEW_PYTHONS, AIOKAFKA_NEEDS[0])(where)
    building.tool(where, sys.executable, "-m", "pip", "--python", "venv/bin/python", "install", "--quiet", *AIOKAFKA_NEEDS)


def aiokafka(bootstrap: str, where: Path) -> Iterator[Outcome]:
    """The released library, the tests of its repository."""
    home = built(Program("suite-aiokafka", "suites/aiokafka", (), _aiokafka, " ".join(AIOKAFKA_NEEDS)))
    sources = checkouts() / "aiokafka"
    shutil.copytree(sources / "tests", where / "tests")
    shutil.copy(sources / "pyproject.toml", where)
    # The image's name says the broker's version, which decides what is skipped
    options = ["-p", "stand_in", f"--docker-image=broker:2.13_{KAFKA}", "--no-pull", "-rA", "--tb=line", "-q"]
    python = str(home / "venv/bin/python")
    said = ran([python, "-m", "pytest", *options, *AIOKAFKA_TESTS], where, PYTHONPATH=str(home), KAFKA_BOOTSTRAP=bootstrap.split(",")[0])
    found = re.findall(r"^(PASSED|FAILED|ERROR) (\S+)(?: - (.*))?$", said, re.MULTILINE)
    for word, name, why in found:
        yield Outcome(name.rpartition("::")[2], word == "PASSED", why[:SAID])
    if not found:
        yield Outcome("all of them", False, _last(said))


# -- confluent-kafka-python

CONFLUENT = "confluent-kafka-python 2.16.1, share consumers"
CONFLUENT_NEEDS = ("confluent-kafka[avro,json,protobuf,schemaregistry]==2.16.1", "pytest==9.0.2", "pytest-asyncio==1.5.0",
                   "pytest-timeout==2.4.0", "trivup==0.12.2")
# What TestUtils.broker_conf of its tests asks of a broker.
SHORT_LOCKS = {"group.share.record.lock.duration.ms": "1000", "group.share.min.record.lock.duration.ms": "1000",
               "share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1"}
LONGEST_TEST_S = 120


def _confluent(where: Path) -> None:
    building.virtual_environment(catalogue.NEW_PYTHONS, CONFLUENT_NEEDS[0])(where)
    building.tool(where, sys.executable, "-m", "pip", "--python", "venv/bin/python", "install", "--quiet", *CONFLUENT_NEEDS)


def confluent(bootstrap: str, where: Path) -> Iterator[Outcome]:
    """The released library, the tests of its repository: a process for each file, because they wait for locks most of the time."""
    home = built(Program("suite-confluent-kafka", None, (), _confluent, " ".join(CONFLUENT_NEEDS)))
    shutil.copytree(checkouts() / "confluent-kafka-python/tests", where / "tests")
    options = ["-rA", "--tb=line", "-q", "-p", "no:cacheprovider", f"--timeout={LONGEST_TEST_S}"]
    for file in sorted((where / "tests/integration/share_consumer").glob("test_*.py")):
        command = [str(home / "venv/bin/python"), "-m", "pytest", *options, str(file.relative_to(where))]
        said = ran(command, where, BROKERS=bootstrap)
        found = re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\S+)(?: - (.*))?$", said, re.MULTILINE)
        yield from (Outcome(f"{file.stem}: {name}", word == "PASSED", why[:SAID]) for word, name, why in found)
        if not found:
            yield Outcome(file.stem, False, _last(said))


# -- KafkaJS

KAFKAJS = "KafkaJS 2.2.4"
KAFKAJS_TESTS = (
    "src/broker/__tests__/(initProducerId|addPartitionsToTxn|addOffsetsToTxn|endTxn|txnOffsetCommit).spec",
    "src/producer/__tests__/(concurrentTransaction|idempotentProduceMessages).spec",
    "src/producer/(eosManager/)?index.spec",
    "src/consumer/__tests__/(controlBatches|filterAbortedMessages).spec",
)
NODES_BY_NAME = "src/producer/__tests__/idempotentProduceMessages.spec.js"


def kafkajs(bootstrap: str, where: Path) -> Iterator[Outcome]:
    """Its sources and their tests; it counts nodes from 0 and dials fixed ports (suites/kafkajs/ports.js)."""
    home = built(Program("suite-kafkajs", "suites/kafkajs", ("node", "npm"), building.npm))
    sources = checkouts() / "kafkajs"
    for folder in ("src", "testHelpers"):
        shutil.copytree(sources / folder, where / folder)
    for file in ("index.js", "package.json"):
        shutil.copy(sources / file, where)
    shutil.copy(sources / "jest.config.js", where / "theirs.config.js")
    for file in ("jest.config.js", "ports.js"):
        shutil.copy(home / file, where)
    (where / "node_modules").symlink_to(home / "node_modules")
    spec = where / NODES_BY_NAME
    spec.write_text(spec.read_text(encoding="utf-8").replace("of [0, 1, 2]", "of [1, 2, 3]"), encoding="utf-8")
    report = where / "report.json"
    jest = ["node", "node_modules/jest/bin/jest.js", "--ci", "--runInBand", "--forceExit", "--json", f"--outputFile={report}"]
    said = ran([*jest, *KAFKAJS_TESTS], where, KAFKA_BOOTSTRAP=bootstrap, KAFKA_VERSION="2.4", NODE_ENV="test")
    if not report.is_file():
        yield Outcome("all of them", False, _last(said))
        return
    for file in json.loads(report.read_text(encoding="utf-8"))["testResults"]:
        for each in file["assertionResults"]:
            if each["status"] in ("passed", "failed"):
                why = (each["failureMessages"] or [""])[0].splitlines()
                yield Outcome(each["fullName"], each["status"] == "passed", why[0][:SAID] if why else "")


SUITES: dict[str, Suite] = {
    "aiokafka": Suite(AIOKAFKA, (), aiokafka, checkout="aiokafka"),
    "confluent-kafka": Suite(CONFLUENT, (), confluent, 1, {**TWO_PARTITIONS, **SHORT_LOCKS, "num.partitions": "1"},
                             "confluent-kafka-python", NEWEST),
    "franz-go": Suite(FRANZ_GO, ("go",), franz_go),
    "franz-go-shares": Suite(FRANZ_GO_SHARES, ("go",), franz_go_shares, release=NEWEST),
    "kafkajs": Suite(KAFKAJS, ("node", "npm"), kafkajs, 3, NODES, "kafkajs"),
    "librdkafka": Suite(LIBRDKAFKA, (*RDKAFKA_TOOLS, "java", "javac", "mvn"), librdkafka, 3, {**NODES, "num.partitions": "4"}),
    "librdkafka-groups": Suite(f"{LIBRDKAFKA}, consumer protocol", RDKAFKA_TOOLS, librdkafka_groups, 3,
                               {**NODES, **CONSUMERS, "num.partitions": "4"}),
}
__all__ = ["RECORD", "SUITES", "BuildFailed", "Outcome", "Suite"]
