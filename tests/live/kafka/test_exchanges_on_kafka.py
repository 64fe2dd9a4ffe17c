"""Every exchange on real Apache Kafka: the broker is the judge of our expectations. Needs java and the shared folder.

Brokers come in classes of settings, one start for each; what takes longer than LONGEST_S is left to `probe --longest`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from groupmock_clients.probe.language.exchange_suite import load_suite

ROOT = Path(__file__).resolve().parents[3]
ORACLE = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared") / "oracle" / "kafka.py"
LONGEST_S = 30
BASE = ("group.initial.rebalance.delay.ms=400", "group.min.session.timeout.ms=100")
CLASSES = {
    "plain": (),
    "small groups": ("group.max.size=2",),
}
SHORT = ("group.consumer.session.timeout.ms=1500", "group.consumer.heartbeat.interval.ms=500", "group.consumer.max.size=2")
LOWER = ("group.consumer.min.session.timeout.ms=1000", "group.consumer.min.heartbeat.interval.ms=100")
CONSUMER_CLASSES = {
    "stock": (),
    "short sessions": (*SHORT, *LOWER),
    "small groups": ("group.max.size=2",),
    "upgrade": ("group.consumer.migration.policy=upgrade",),
    "downgrade": ("group.consumer.migration.policy=downgrade",),
    "disabled": ("group.consumer.migration.policy=disabled",),
    "switched off": ("group.coordinator.rebalance.protocols=classic",),
}
"""Settings under which brokers show all that is stated of consumer groups."""
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
    if any(row.startswith("CG-") for row in each.rows) and "4.3" in each.releases and not each.lacking
]
FEWEST = 450
"""Fewer kept exchanges than this mean that something did not run. The others cannot be provoked or are of other releases."""
VERSIONS = {"4.3": "4.3.0", "3.9": "3.9.1"}


@pytest.mark.parametrize("settings", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("release", VERSIONS)
def test_kafka_keeps_every_exchange(release: str, settings: tuple[str, ...]) -> None:
    done = probed(release, settings)
    assert done.returncode == 0, done.stdout.partition("\nBroken:\n")[2] or done.stdout[-2000:] + done.stderr[:2000]
    kept = re.search(r"^exchanges: (\d+) kept, 0 broken", done.stdout, re.MULTILINE)
    assert kept is not None and int(kept[1]) > FEWEST, done.stdout[-500:]


@pytest.mark.parametrize("settings", CONSUMER_CLASSES.values(), ids=CONSUMER_CLASSES)
def test_kafka_keeps_every_exchange_of_consumer_groups(settings: tuple[str, ...]) -> None:
    done = probed("4.3", settings, "--only", "'CG-*'", "--report", "json", "--output", "/dev/stdout")
    found = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])["exchanges"]
    assert [f"{each['name']}: {each['detail']}" for each in found if each["verdict"] == "broken"] == []
    kept = {each["name"] for each in found if each["verdict"] == "kept"}
    assert meant_for(settings) - kept == set()


def test_every_exchange_of_consumer_groups_is_meant_for_some_settings() -> None:
    meant = {name for settings in CONSUMER_CLASSES.values() for name in meant_for(settings)}
    assert {each.name for each in CONSUMER_EXCHANGES} - {name.partition("[")[0] for name in meant} == set()


def meant_for(settings: tuple[str, ...]) -> set[str]:
    """The dialogues whose own settings are these, or some of them."""
    given = dict(setting.split("=") for setting in settings)
    fitting = [each for each in CONSUMER_EXCHANGES if each.settings.items() <= {**STOCK, **given}.items()]
    # What is switched off answers nothing else; small or short-lived groups and other policies keep what is written for them.
    own = [each for each in fitting if each.settings.keys() & given.keys() or not given]
    return {variant.name for each in own for variant in each.variants()}


def probed(release: str, settings: tuple[str, ...], *words: str) -> subprocess.CompletedProcess[str]:
    """A broker of that release with these settings, and what the probe says of it."""
    sets = [word for setting in (*BASE, *settings) for word in ("--set", setting)]
    probe = [sys.executable, "-m", "groupmock_clients.probe", "$KAFKA_BOOTSTRAP", "--release", release]
    wanted = ["--retries", "2", "--patience", "1.5", "--longest", str(LONGEST_S), *words]
    command = ["sh", "-c", " ".join([*probe, *wanted, "|| [ $? = 4 ]"])]  # 4: something stays unknown under these settings
    return subprocess.run(
        [sys.executable, str(ORACLE), "run", "--version", VERSIONS[release], *sets, "--", *command],
        capture_output=True,
        text=True,
        check=False,
    )
