"""Records the broker configs of real Apache Kafka: which ones a release has, shows and lets change.

    python -m tools.broker_configs               # every release; needs java and the developers' shared folder (GROUPMOCK_SHARED)
    python -m tools.broker_configs --release 4.3

Per release it writes core/log/tables/kafka_*.py (name, type, who may change it, bounds, default, in the order of Kafka's checks) and
tests/data/broker_configs/*.jsonl.gz (DescribeConfigs of a fresh broker, every changeable config given good and bad values, and
STORY, a sequence of changes with what is shown after each). Configs that depend on the host or on the oracle's own settings are left out by
name.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from groupmock_clients.probe.stages.tcp_broker import TcpBroker
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k33_alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig as Changed
from groupmock_codec.messages.k44_incremental_alter_configs import AlterConfigsResource as ChangedResource
from groupmock_codec.messages.k44_incremental_alter_configs import IncrementalAlterConfigsRequest
from tools.fidelity.generated.settings_classes import BROKERS
from tools.oracle import ORACLE, run
from tools.runs import ROOT

TABLES: Final = ROOT / "broker" / "groupmock" / "core" / "log" / "tables"
VECTORS: Final = ROOT / "tests" / "data" / "broker_configs"
WIDEST: Final = 138
"""The longest line of a table. A longer row is continued on the next line."""

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, DEFAULT = 2, 3, 5
NODE: Final = "1"
HOST: Final = frozenset(
    (
        "advertised.listeners", "controller.listener.names", "controller.quorum.voters", "listener.security.protocol.map", "listeners",
        "log.dirs", "process.roles", "zookeeper.connect",
    )
)  # fmt: skip
"""The configs that depend on the host, which the oracle therefore has to set."""
FLUSH: Final = "log.flush.scheduler.interval.ms=9223372036854775807"
"""Kafka's default for the flush interval. The oracle has another value, which would show as flush.ms of topics."""
VALUES: Final = ("x", "-5", "0", "", "1", "99999999999", " 2 ", "0.25", "a,,b", "a,a", "TRUE")
ONE_OF_EACH: Final = ["log.retention.bytes", "log.retention.ms", "num.partitions", "ssl.key.password", "broker.id", "delete.topic.enable"]
Step = list[Any]
RETENTION: Final = ["retention.ms", "retention.bytes", "segment.ms", "segment.jitter.ms", "flush.ms", "cleanup.policy", "max.message.bytes"]
FAMILIES: Final = [
    "log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.roll.ms", "log.roll.hours", "log.roll.jitter.ms",
    "log.flush.interval.ms", "log.cleaner.backoff.ms", "nope", "everywhere", "min.insync.replicas", "sasl.jaas.config", "max.connections",
    "listener.name.plaintext.max.connections", "listener.name.plaintext.ssl.keystore.type", "listener.name.plaintext.sasl.jaas.config",
    "listener.name.plaintext.nope", "ssl.keystore.type",
]  # fmt: skip


def _tries(who: str) -> list[Step]:
    """Return the steps that try changes of configs of one broker, or of all, which are refused or only validated."""
    return [
        ["change", who, True, [[SET, "nope", "5"]]],
        ["change", who, True, [[SET, "node.id", "1"]]],
        ["change", who, True, [[SET, "num.partitions", "1"], [SET, "broker.id", "3"], [SET, "auto.create.topics.enable", "x"]]],
        ["change", who, True, [[SET, name, "1"] for name in ("num.partitions", "broker.id", "fetch.max.bytes", "group.max.size",
                                                             "offset.metadata.max.bytes", "log.retention.hours")]],
        ["change", who, True, [[SET, "ssl.keystore.type", "a"], [SET, "ssl.key.password", "b"], [SET, "ssl.truststore.type", "c"]]],
        ["change", who, True, [[SET, "ssl.protocol", "TLSv1.2"], [SET, "log.cleaner.threads", "1"], [SET, "listeners", "y"]]],
        ["change", who, True, [[SET, "log.retention.bytes", "x"], [SET, "ssl.keystore.type", "y"], [SET, "node.id", "7"]]],
        ["change", who, True, [[SET, "log.retention.bytes", "x"], [SET, "ssl.keystore.type", "y"]]],
        ["change", who, True, [[SET, "log.retention.bytes", "x"], [SET, "log.cleaner.threads", "y"]]],
        ["change", who, True, [[SET, "log.cleaner.threads", "y"], [SET, "log.retention.bytes", "x"]]],
        ["change", who, True, [[SET, "log.retention.bytes", "1"], [SET, "log.retention.bytes", "2"]]],
        ["change", who, True, [[SET, "log.retention.bytes", None]]],
        ["change", who, True, [[9, "log.retention.bytes", "1"]]],
        *(["change", who, True, [[DELETE, name, None]]] for name in ("num.partitions", "nope", "log.retention.bytes",
                                                                     "min.insync.replicas")),
        *(["change", who, True, [[operation, name, "1"]]] for operation in (APPEND, SUBTRACT) for name in ("log.retention.bytes",
          "nope", "num.partitions", "sasl.enabled.mechanisms", "log.cleanup.policy")),
        ["change", who, True, [[APPEND, "log.cleanup.policy", "compact"]]],
        ["change", who, True, [[SUBTRACT, "log.cleanup.policy", "delete"]]],
        *(["change", who, True, [[SET, "log.cleanup.policy", text]]] for text in ("delete,delete", "delete,", ",", " ", "compact")),
        *(["change", who, True, [[SET, f"listener.name.plaintext.{name}", "5"]]] for name in ("ssl.keystore.type", "max.connections",
          "nope", "num.network.threads", "max.connection.creation.rate", "log.retention.bytes", "sasl.login.refresh.buffer.seconds")),
        ["change", who, True, [[SET, "listener.name.plaintext.max.connections", "x"]]],
        *(["change", who, True, [[SET, "num.io.threads", text]]] for text in ("3", "4", "16", "17")),
        *(["change", who, True, [[SET, name, "3"]]] for name in ("num.replica.fetchers", "log.cleaner.threads", "background.threads",
                                                                 "num.network.threads")),
        ["change", who, True, [[SET, "num.recovery.threads.per.data.dir", "100"]]],
        ["change", who, True, [[SET, "log.cleaner.threads", "200"]]],
        *(["change", who, True, [[SET, "log.cleaner.dedupe.buffer.size", text]]] for text in ("1048576", "1048577")),
        *(["change", who, True, [[SET, "log.retention.ms", text]]] for text in ("-1", "-2", "0")),
        ["change", who, True, [[SET, "log.roll.ms", "0"], [SET, "log.retention.ms", "0"], [SET, "max.connections", "0"]]],
        ["change", who, True, [[SET, "log.cleaner.dedupe.buffer.size", "5"], [SET, "log.retention.ms", "0"]]],
        ["change", who, True, [[SET, "max.connections.per.ip", "0"], [SET, "max.connections.per.ip.overrides", "127.0.0.1:5"]]],
        *(["change", who, True, [[SET, "max.connections.per.ip.overrides", text]]] for text in ("127.0.0.1:5", "nohost:5", "a:5,x",
                                                                                              "a:x", "a:5,b:6")),
        ["change", who, True, [[SET, "compression.gzip.level", "10"]]],
        ["change", who, True, [[SET, "log.segment.bytes", "20"]]],
        ["replace", who, True, {"nope": "5"}],
        ["replace", who, True, {"node.id": "1"}],
        ["replace", who, True, {"num.partitions": "1"}],
        ["replace", who, True, {"log.retention.bytes": None}],
        ["replace", who, True, {"log.retention.bytes": "5"}],
        ["replace", who, True, {}],
        ["replace", who, True, {"min.insync.replicas": "2"}],
        ["change", who, True, [[SET, "min.insync.replicas", "2"]]],
    ]  # fmt: skip


STORY: Final[list[Step]] = [
    ["show", BROKER, NODE, FAMILIES],
    *_tries(NODE),
    *_tries(""),
    *(["change", who, True, [[SET, "log.retention.bytes", "5"]]] for who in ("2", "x", "-1", "01")),
    *(["replace", who, True, {}] for who in ("2", "x")),
    *(["show", BROKER, who, None] for who in ("2", "x")),
    ["change", NODE, False, [[SET, "log.retention.ms", "3600000"], [SET, "log.cleaner.backoff.ms", " 7 "], [SET, "nope", "5"]]],
    ["show", BROKER, NODE, FAMILIES],
    ["change", "", False, [[SET, "log.retention.ms", "7200000"], [SET, "log.cleaner.backoff.ms", "+9"], [SET, "everywhere", "5"],
                           [SET, "log.roll.ms", "99999"], [SET, "log.cleanup.policy", " delete , compact"]]],
    ["show", BROKER, NODE, FAMILIES],
    ["show", BROKER, "", None],
    ["show", BROKER, "", ["everywhere", "log.roll.ms"]],
    ["show", TOPIC, "story", RETENTION],
    ["change", NODE, False, [[APPEND, "log.cleanup.policy", "compact"], [SET, "log.retention.bytes", "1000"]]],
    ["show", TOPIC, "story", RETENTION],
    ["change", NODE, False, [[SET, "sasl.jaas.config", "secret"]]],
    ["change", NODE, False, [[SET, "listener.name.plaintext.sasl.jaas.config", "x"]]],
    ["change", NODE, False, [[SET, "listener.name.plaintext.max.connections", "77"], [SET, "listener.name.plaintext.nope", "1"],
                             [SET, "listener.name.plaintext.ssl.keystore.type", "PKCS12"]]],
    ["show", BROKER, NODE, FAMILIES],
    ["show", BROKER, NODE, None],
    ["change", "", False, [[SET, "num.io.threads", "16"]]],
    ["change", NODE, True, [[SET, "num.io.threads", "32"]]],
    ["change", "", True, [[SET, "log.retention.ms", "0"]]],
    ["replace", NODE, False, {"log.retention.bytes": "5", "message.max.bytes": "2000"}],
    ["show", BROKER, NODE, [*FAMILIES, "log.retention.bytes", "message.max.bytes", "num.io.threads"]],
    ["show", TOPIC, "story", RETENTION],
    ["change", "", False, [[DELETE, name, None] for name in ("log.retention.ms", "log.cleaner.backoff.ms", "everywhere", "log.roll.ms")]],
    ["show", BROKER, "", None],
    ["replace", NODE, False, {}],
    ["show", BROKER, NODE, FAMILIES],
    ["show", TOPIC, "story", RETENTION],
]  # fmt: skip
"""The questions that are recorded, each a kind of step with its arguments. `show` has kind, name, keys and perhaps a version. `change`
has name, validate_only and perhaps [operation, config, value]. `replace` has name, validate_only and {config: value}."""


class ConfigsRecorder:
    """Asks one real broker about its configs."""

    def __init__(self, bootstrap: str, release: str) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self._broker = TcpBroker(host, int(port), release)
        self.oldest = self._broker.ranges[32].lowest
        """The oldest version of DescribeConfigs that the broker serves."""
        made = CreatableTopic(name="story", num_partitions=1, replication_factor=1)
        self._broker.ask(19, 5, CreateTopicsRequest(topics=[made], timeout_ms=10_000))

    def show(self, kind: int, name: str, keys: list[str] | None, version: int = 4) -> Any:
        """Send DescribeConfigs for one resource and return its rows, or [code, text]."""
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        asked = DescribeConfigsRequest(resources=[resource], include_synonyms=version >= 1, include_documentation=version >= 3)
        result: Any = self._broker.ask(32, version, asked)
        (found,) = result.results
        if found.error_code:
            return [found.error_code, found.error_message]
        return [
            [
                one.name, one.value, one.config_type, one.config_source, one.read_only, one.is_sensitive,
                [[each.name, each.value, each.source] for each in one.synonyms], bool(one.documentation), one.is_default,
            ]
            for one in found.configs
        ]  # fmt: skip

    def change(self, name: str, validate_only: bool, changes: Sequence[Sequence[Any]], kind: int = BROKER) -> list[Any]:
        """Send IncrementalAlterConfigs and return [code, text]. A resource of another kind is only asked with `validate_only`."""
        configs = [Changed(config_operation=operation, name=key, value=value) for operation, key, value in changes]
        resource = ChangedResource(resource_type=kind, resource_name=name, configs=configs)
        wanted = {} if validate_only else self._changed(name)
        for operation, key, value in changes:
            if operation == DELETE:
                wanted.pop(key, None)
            else:
                wanted[key] = value if operation == SET else None
        answer: Any = self._broker.ask(44, 1, IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only))
        return self._outcome(answer, validate_only, name, wanted)

    def replace(self, name: str, validate_only: bool, configs: Mapping[str, str | None]) -> list[Any]:
        """Send AlterConfigs and return [code, text]."""
        rows = [AlterableConfig(name=key, value=value) for key, value in configs.items()]
        resource = AlterConfigsResource(resource_type=BROKER, resource_name=name, configs=rows)
        answer: Any = self._broker.ask(33, 2, AlterConfigsRequest(resources=[resource], validate_only=validate_only))
        return self._outcome(answer, validate_only, name, dict(configs))

    def _outcome(self, answer: Any, validate_only: bool, name: str, wanted: Mapping[str, str | None]) -> list[Any]:
        """Return the broker's answer to a change, once it has applied the change, which takes a moment."""
        row = answer.responses[0]
        if not validate_only and not row.error_code:
            while not self._holds(self._changed(name), wanted):
                pass
        return [row.error_code, row.error_message or None]

    def _changed(self, name: str) -> dict[str, str | None]:
        """Return the configs that were changed at run time for one broker or for all."""
        source = DYNAMIC_DEFAULT_BROKER if name == "" else DYNAMIC_BROKER
        rows = self.show(BROKER, name, None)
        if rows and not isinstance(rows[0], list):
            return {}
        return {row[0]: value for row in rows for key, value, where in row[6] if where == source and key == row[0]}

    @staticmethod
    def _holds(found: Mapping[str, str | None], wanted: Mapping[str, str | None]) -> bool:
        seen = ((found[name], value) for name, value in wanted.items() if name in found)
        return found.keys() == wanted.keys() and all(None in pair or pair[0] == pair[1] for pair in seen)


def as_started_plainly(rows: list[Any], defaults: Mapping[str, str | None], oracles: frozenset[str]) -> list[Any]:
    """Return rows without the host's configs, and with Kafka's defaults where the oracle sets another value. Configs of the oracle that
    Kafka does not define are dropped."""
    kept = []
    for row in rows:
        name = row[0]
        if name in HOST or (name in oracles and name not in defaults):
            continue
        if name in oracles and defaults[name] is not None:
            row = [name, defaults[name], row[2], DEFAULT, *row[4:6], [[name, defaults[name], DEFAULT]], *row[7:]]
        kept.append(row)
    return kept


def definitions(version: str, of: str = "broker") -> list[list[str]]:
    """Return [name, type, default, mode, validator] of every config, as Kafka's own class lists them. `of`: broker, topic, group, consumer,
    producer or admin."""
    lines = run(version, Path(__file__).with_name("BrokerConfigs.java"), words=(of,)).splitlines()
    return [line.split("\t") for line in lines]


def bounds(validator: str) -> str:
    """Format a validator: `[0,...,1]` as 0:1, `[a, b]` as a,b, anything else as -."""
    either = " or -1" if validator.endswith(" or -1") else ""
    inside = validator.removesuffix(either)
    if not (inside.startswith("[") and inside.endswith("]")):
        return "-"
    parts = inside[1:-1].split(",")
    if "..." in parts:
        return ":".join(part for part in (parts[0], *parts[2:])) + (":" if len(parts) == 2 else "") + ("|-1" if either else "")
    return ",".join(part.strip() for part in parts)


def table(release: str, version: str, defined: list[list[str]]) -> str:
    """Return the Python source of the module that holds a release's configs."""
    rows = []
    for name, kind, default, mode, validator in defined:
        changed = {"internal": "i", "read-only": "r", "per-broker": "b", "cluster-wide": "c"}[mode]
        row = f"{name} {kind} {changed} {bounds(validator) if changed in 'bc' else '-'} {default}"
        rows += [row[:WIDEST] + "\\", row[WIDEST:]] if len(row) > WIDEST else [row]
    text = "\n".join(rows)
    return f'''"""The broker configs of Apache Kafka {version} (`tables.Row`). Written by tools/broker_configs."""

from __future__ import annotations

ROWS = """\\
{text}
"""
'''


def record(release: str, bootstrap: str) -> None:
    """Record the answers of one running broker to all questions about configs."""
    version = BROKERS[release]
    recorder = ConfigsRecorder(bootstrap, release)
    oracles = frozenset(row[0] for row in recorder.show(BROKER, NODE, None) if row[3] == 4) - {"node.id", "broker.id"}
    defined = definitions(version)
    defaults = {name: None if default == "null" else default[1:-1] for name, _, default, *_ in defined}
    stem = f"kafka_{release.replace('.', '_')}"
    (TABLES / f"{stem}.py").write_text(table(release, version, defined))
    lines = list(_lines(recorder, defaults, oracles - HOST))
    VECTORS.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (VECTORS / f"{release}.jsonl.gz").write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(f"{version}: {len(defined)} configs, {len(lines)} lines")


def _lines(recorder: ConfigsRecorder, defaults: Mapping[str, str | None], oracles: frozenset[str]) -> Iterator[list[Any]]:
    """Yield [step, arguments, answer] for each question that is recorded."""
    for version in range(recorder.oldest, 5):
        told = [BROKER, NODE, ONE_OF_EACH, version]
        yield ["show", told, recorder.show(*told)]  # type: ignore[arg-type]
    changeable = [row[0] for row in recorder.show(BROKER, NODE, None) if not row[4] and row[0] not in HOST]
    some = sorted(defaults)[::17]
    for resource in ([BROKER, NODE, None], [BROKER, "", None], [BROKER, NODE, some], [TOPIC, "story", None], [TOPIC, "story", RETENTION]):
        yield ["show", resource, as_started_plainly(recorder.show(*resource), defaults, oracles)]  # type: ignore[arg-type]
    for name in changeable:
        for value in dict.fromkeys((*VALUES, defaults[name] or "5")):
            for who in (NODE, ""):
                step = [who, True, [[SET, name, value]]]
                yield ["change", step, recorder.change(*step)]  # type: ignore[arg-type]
    for what, *arguments in STORY:
        answer = getattr(recorder, what)(*arguments)
        if what == "show" and answer and isinstance(answer[0], list):
            answer = as_started_plainly(answer, defaults, oracles)
        yield [what, arguments, answer]


def main() -> int:
    """Record the configs of the chosen releases. Inside `oracle/kafka.py run`, record the running broker."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.broker_configs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", action="append", choices=sorted(BROKERS), help="only these")
    asked = parser.parse_args()
    if "KAFKA_BOOTSTRAP" in os.environ:
        (release,) = (short for short, version in BROKERS.items() if version == os.environ["KAFKA_VERSION"])
        record(release, os.environ["KAFKA_BOOTSTRAP"])
        return 0
    if not ORACLE.is_file():
        parser.error(f"there is no {ORACLE}, which starts Kafka: set GROUPMOCK_SHARED to the developers' shared folder")
    for release in asked.release or list(BROKERS):
        oracle = [sys.executable, str(ORACLE), "run", "--version", BROKERS[release], "--set", FLUSH, "--"]
        subprocess.run([*oracle, sys.executable, "-m", "tools.broker_configs"], check=True, cwd=ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
