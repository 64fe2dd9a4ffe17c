"""The classes of broker settings that scripts need, each of which takes one start of the broker."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from groupmock.config.advertise import advertised
from groupmock.config.profiles import Profile
from groupmock.config.resolve import resolve
from groupmock.core.settings import Settings

BASE: Final = {"group.initial.rebalance.delay.ms": "400", "group.min.session.timeout.ms": "100"}
TIMEOUTS_EVERY_MS: Final = 20
OF_CONSUMERS: Final = {"group.consumer.assignment.interval.ms": "0", "group.consumer.max.size": "3"}
OF_SHARES: Final = {
    "group.share.assignment.interval.ms": "0", "group.share.max.size": "2", "group.share.record.lock.duration.ms": "2000",
}  # fmt: skip
OF_STREAMS: Final = {
    "group.streams.assignment.interval.ms": "0", "group.streams.initial.rebalance.delay.ms": "0", "group.streams.max.size": "3",
}  # fmt: skip
QUICK: Final = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": str(TIMEOUTS_EVERY_MS)}
CLASSES: Final[dict[str, dict[str, str]]] = {
    "plain": BASE,
    "small": {**BASE, "group.max.size": "3"},
    "consumers": {**BASE, **OF_CONSUMERS},
    "quick": {**BASE, **QUICK},
    "crossed": {**BASE, **OF_CONSUMERS, **QUICK},
    "shares": {**BASE, **OF_SHARES},
    "streams": {**BASE, **OF_STREAMS},
    "moves": {**BASE, **OF_SHARES, "group.share.max.size": "3"},
}
"""Maps a class of settings to the broker settings that it stands for. `small`: groups of three at most. `consumers`: consumer groups of
three, a target with every heartbeat. `quick`: transactions are aborted as soon as their timeout is over: Kafka looks for that at times
of its own, not those of our clock. `crossed`: both of these. `shares`:
share groups of two, a target with every heartbeat, short locks. `moves`: the same with share groups of three, on two nodes. `streams`:
streams groups of three, a target with every heartbeat."""
NODES: Final = {"moves": 2}
"""Maps a class of settings to its number of nodes, which is 1 for the others."""
ORACLE: Final = {"offsets.topic.num.partitions": "5"}
"""The settings in which the brokers of oracle/kafka.py differ from Kafka's defaults."""
UNBUDGETED: Final = {"groupmock.request.max.work": str(2**31 - 1), "groupmock.cluster.max.partitions": str(2**31 - 1)}
"""The settings that remove groupmock's own limits, which Kafka does not have (docs/kafka/differences.md#budgets-of-one-request)."""
BROKERS: Final = {"4.4": "4.4.0", "4.3": "4.3.0", "3.9": "3.9.1"}
"""Maps a release to the version of Apache Kafka whose broker represents it."""
UNLIMITED: Final = str(2**31 - 1)
DEFAULTS: Final = {
    "group.max.size": UNLIMITED,
    "group.consumer.max.size": UNLIMITED,
    "group.share.max.size": "200",
    "group.streams.max.size": UNLIMITED,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "10000",
}
"""Kafka's defaults for settings that only some classes change."""


class Known(NamedTuple):
    """The configuration of the core that stands for a broker of a release with a class of settings."""

    settings: Settings
    profile: Profile
    versions: dict[int, tuple[int, int]]


@cache
def known(release: str, settings: str) -> Known:
    """Return the core's configuration for a release and a class of settings, including the oracle's settings."""
    config = resolve({"profile": f"kafka-{release}"}, [*CLASSES[settings].items(), *ORACLE.items(), *UNBUDGETED.items()])
    versions = {row.key: (row.lowest, row.highest) for row in advertised(config.profile)}
    return Known(config.settings, config.profile, versions)


def class_of(told: dict[str, str], nodes: int) -> str | None:
    """Return the class that fits the settings of a broker (DescribeConfigs) and the number of nodes of its cluster, or None."""
    for name, wanted in CLASSES.items():
        if nodes == NODES.get(name, 1) and all(told.get(key, value) == value for key, value in (DEFAULTS | wanted).items()):
            return name
    return None
