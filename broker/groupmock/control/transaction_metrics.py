"""Make the metrics of transactions when Prometheus scrapes (`metrics`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from ..core.transactions.states import PREPARED, State

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from ..core.cluster import Cluster


def transaction_metrics(cluster: Cluster, wall_ms: int) -> Iterator[Metric]:
    """Yield all metrics of transactions; `wall_ms` is the present time. Each partition is looked at, because it may have an open
    transaction that no coordinator knows (TX-95)."""
    yield from _coordinated(cluster, wall_ms)
    ended = CounterMetricFamily("groupmock_transactions_ended", "transactions whose end was decided, by what decided it", labels=["cause"])
    for cause, count in sorted(cluster.transactions.ended.items()):
        ended.add_metric([cause], count)
    about = "offsets from the last stable one to the end, where a transaction is open"
    unstable = GaugeMetricFamily("groupmock_unstable_offsets", about, labels=["topic", "partition"])
    for name in cluster.topics.names():
        for partition in cluster.topics.require(name).partitions:
            if partition.producers.transactions is not None and (behind := partition.end - partition.stable()):
                unstable.add_metric([name, str(partition.index)], behind)
    yield from (ended, unstable)


def _coordinated(cluster: Cluster, wall_ms: int) -> Iterator[Metric]:
    """Yield the metrics of transactional ids that have a coordinator."""
    ids = list(cluster.transactions.all())
    states = GaugeMetricFamily("groupmock_transactional_ids", "transactional ids now, by state", labels=["state"])
    for state, count in sorted(Counter(str(each.state) for each in ids).items()):
        states.add_metric([state], count)
    ages_ms = [wall_ms - each.started_ms for each in ids if each.state is State.ONGOING]
    waiting = sum(len(each.partitions) for each in ids if each.state in PREPARED)
    yield states
    about = "how long the oldest Ongoing transaction has been open; 0: none is"
    yield GaugeMetricFamily("groupmock_oldest_transaction_seconds", about, value=max(ages_ms, default=0) / 1000)
    about = "markers that are owed to partitions: held, delayed, or without a leader"
    yield GaugeMetricFamily("groupmock_markers_waiting", about, value=waiting)
