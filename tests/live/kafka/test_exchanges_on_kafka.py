"""Every exchange is played on real Apache Kafka, which must answer as the exchange expects. It needs java and the shared folder.

Brokers are grouped by their settings, one start for each group. `probe --longest` plays those that take longer than LONGEST_S.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from groupmock_clients.probe.language.exchange_suite import load_suite
from tools.fidelity.generated.settings_classes import BASE, BROKERS
from tools.oracle import kafka

LONGEST_S = 30
CLASSES: dict[str, dict[str, str]] = {"plain": {}, "small groups": {"group.max.size": "2"}}
SHORT = {
    "group.consumer.session.timeout.ms": "1500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.max.size": "2",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
}
OFF = {"group.coordinator.rebalance.protocols": "classic"}
CONSUMER_CLASSES = {
    "stock": {},
    "short sessions": SHORT,
    "small groups": {"group.max.size": "2"},
    "upgrade": {"group.consumer.migration.policy": "upgrade"},
    "downgrade": {"group.consumer.migration.policy": "downgrade"},
    "disabled": {"group.consumer.migration.policy": "disabled"},
    "switched off": OFF,
}
"""Settings of brokers that together can play every exchange about consumer groups."""
STOCK = {
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.assignment.interval.ms": "1000",
    "group.consumer.max.size": "2147483647",
    "group.consumer.migration.policy": "bidirectional",
}
CONSUMER_EXCHANGES = [
    each
    for each in load_suite().exchanges
    if any(row.startswith("CG-") for row in each.rows) and "4.3" in each.releases and not each.lacking and not each.listeners
]
FEW_SESSIONS = {"group.share.max.share.sessions": "200"}
KEPT = (0, 4)
"""Exit codes of the probe that count as success; 4 means that some rules are unknown with these settings."""
FEWEST = 450
"""Minimum number of exchanges that must be confirmed. The others cannot be provoked or belong to other releases."""


@pytest.mark.parametrize("settings", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("release", BROKERS)
def test_kafka_keeps_every_exchange(release: str, settings: dict[str, str]) -> None:
    done = probed(release, settings)
    assert done.returncode in KEPT, done.stdout.partition("\nBroken:\n")[2] or done.stdout[-2000:] + done.stderr[:2000]
    kept = re.search(r"^exchanges: (\d+) kept, 0 broken", done.stdout, re.MULTILINE)
    assert kept is not None and int(kept[1]) > FEWEST, done.stdout[-500:]


@pytest.mark.parametrize("settings", CONSUMER_CLASSES.values(), ids=CONSUMER_CLASSES)
def test_kafka_keeps_every_exchange_of_consumer_groups(settings: dict[str, str]) -> None:
    found = reported("4.3", settings, "--only", "CG-*")["exchanges"]
    assert [f"{each['name']}: {each['detail']}" for each in found if each["verdict"] == "broken"] == []
    kept = {each["name"] for each in found if each["verdict"] == "kept"}
    assert meant_for(settings) - kept == set()


@pytest.mark.parametrize("release", ["4.4", "4.3"])
def test_kafka_keeps_every_row_about_share_groups(release: str) -> None:
    assert rows_kept(release, {"SG-*": {}, "SG-169": FEW_SESSIONS}) == rows_about("SG-", release)


@pytest.mark.parametrize("release", ["4.4", "4.3"])
def test_kafka_keeps_every_row_about_streams_groups(release: str) -> None:
    assert rows_kept(release, {"ST-*": {}, "ST-150": {"group.streams.max.size": "1"}, "ST-05": OFF}) == rows_about("ST-", release)


def rows_kept(release: str, settings: dict[str, dict[str, str]]) -> set[str]:
    """Return the rows that brokers of a release keep. `settings` maps the rows to play to those of their broker."""
    kept: set[str] = set()
    for only, each in settings.items():
        found = reported(release, each, "--only", only, "--longest", "60")
        assert [f"{each['name']}: {each['detail']}" for each in found["exchanges"] if each["verdict"] == "broken"] == []
        kept |= {each["row"] for each in found["rows"] if each["verdict"] == "kept"}
    return kept


def rows_about(prefix: str, release: str) -> set[str]:
    exchanges = [each for each in load_suite().exchanges if release in each.releases]
    return {row for each in exchanges for row in each.rows if row.startswith(prefix)}


def test_every_exchange_of_consumer_groups_is_meant_for_some_settings() -> None:
    meant = {name for settings in CONSUMER_CLASSES.values() for name in meant_for(settings)}
    assert {each.name for each in CONSUMER_EXCHANGES} - {name.partition("[")[0] for name in meant} == set()


def meant_for(settings: dict[str, str]) -> set[str]:
    """Return the dialogues whose own settings are contained in these settings."""
    fitting = [each for each in CONSUMER_EXCHANGES if each.settings.items() <= {**STOCK, **settings}.items()]
    # Dialogues that need disabled features, small groups or other special settings run on brokers that have those settings.
    own = [each for each in fitting if each.settings.keys() & settings.keys() or not settings]
    return {variant.name for each in own for variant in each.variants()}


def reported(release: str, settings: dict[str, str], *words: str) -> dict[str, Any]:
    """Return the probe's report of a broker of that release with these settings."""
    done = probed(release, settings, *words, "--report", "json", "--output", "/dev/stdout")
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])
    return found


def probed(release: str, settings: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Start a broker of that release with these settings and return the result of the probe."""
    wanted = ["--retries", "2", "--patience", "1.5", "--longest", str(LONGEST_S), *words]
    with kafka(BROKERS[release], BASE | settings) as bootstrap:
        command = [sys.executable, "-m", "groupmock_clients.probe", bootstrap, "--release", release, *wanted]
        return subprocess.run(command, capture_output=True, text=True, check=False)
