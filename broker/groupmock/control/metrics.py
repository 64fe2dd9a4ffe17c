"""The metrics of a cluster for Prometheus are made from the driver's counters and the present state of the core. They are read when
Prometheus scrapes, so that requests of Kafka's clients cost nothing more."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from groupmock_codec import APIS

from ..text.printable import printable
from .slicing import in_slices

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from ..audit.verdicts import Audit
    from ..server.running import Running

TOTALS = {
    "replies": "answers to requests that took the full path",
    "lost_replies": "answers made for a connection that was gone",
    "connections_opened": "connections opened",
    "connections_closed": "connections closed",
    "refused": "connections closed because of what they sent",
    "over_budget": "of these: because of what one request would cost",
    "abandoned": "requests that will never be answered, as Kafka leaves some",
    "faults": "times that a fault rule fired",
    "accept_failures": "times that no connection could be accepted",
    "internal_errors": "defects of groupmock itself",
    "repeated_heartbeats": "heartbeats answered on the fast path",
}


class Scrape:
    """The metrics of a cluster at one moment. Those with a line for each group are made in slices, because there may be 20,000 groups."""

    def __init__(self, running: Running) -> None:
        self._running = running

    async def families(self) -> list[Metric]:
        """Return all metrics of the cluster."""
        found = [*self._counters(), *self._now(), *await self._groups(), *self._transactions()]
        if self._running.audit_sink is not None:
            found += self._audited(self._running.audit())
        return found

    def _audited(self, audit: Audit) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily

        broken = CounterMetricFamily("groupmock_audit_broken", "times that a client broke a rule, waived ones left out", labels=["rule"])
        waived = CounterMetricFamily("groupmock_audit_waived", "times that it did and a waiver covers it", labels=["rule"])
        kept = CounterMetricFamily("groupmock_audit_kept", "times that it kept one; heartbeats that repeat count once", labels=["rule"])
        unseen = CounterMetricFamily("groupmock_audit_not_judged", "times that it met a client and could not look", labels=["rule"])
        for code, tally in audit.rules.items():
            broken.add_metric([code], tally.broken - tally.waived)
            waived.add_metric([code], tally.waived)
            kept.add_metric([code], tally.kept)
            unseen.add_metric([code], sum(tally.not_judged.values()))
        yield from (broken, waived, kept, unseen)

    def _counters(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily

        counters = self._running.server.counters
        for name, about in TOTALS.items():
            yield CounterMetricFamily(f"groupmock_{name}", about, value=getattr(counters, name))
        requests = CounterMetricFamily("groupmock_requests", "requests that took the full path", labels=["api"])
        for key, count in sorted(counters.requests.items()):
            requests.add_metric([APIS[key].name], count)
        yield requests
        errors = CounterMetricFamily("groupmock_errors", "answers that hold this error, anywhere in them", labels=["api", "error"])
        for (key, name), count in sorted(counters.errors.items()):
            errors.add_metric([APIS[key].name, name], count)
        yield errors

    def _now(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        running = self._running
        yield GaugeMetricFamily("groupmock_connections", "connections now", value=len(running.server.driver.connections))
        yield GaugeMetricFamily("groupmock_held_bytes", "bytes of requests that wait now", value=running.server.counters.held_bytes)

    async def _groups(self) -> list[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        groups = GaugeMetricFamily("groupmock_groups", "groups now, by state", labels=["state"])
        members = GaugeMetricFamily("groupmock_group_members", "members of a group now", labels=["group"])
        generations = GaugeMetricFamily("groupmock_group_generation", "generation of a group", labels=["group"])
        states: Counter[str] = Counter()
        async for group in in_slices(self._running.cluster.groups.all()):
            states[str(group.state)] += 1
            name = printable(group.group_id)
            members.add_metric([name], len(group.members))
            generations.add_metric([name], group.generation)
        for state, count in sorted(states.items()):
            groups.add_metric([state], count)
        return [groups, members, generations]

    def _transactions(self) -> Iterator[Metric]:
        from .transaction_metrics import transaction_metrics

        running = self._running
        yield from transaction_metrics(running.cluster, running.core.environment.wall_ms(running.clock.now()))


class Collected:
    """A collector of prometheus-client that returns metrics made before."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


async def text_of(running: Running) -> bytes:
    """Return the metrics of a cluster in the text format of Prometheus. The library makes it in one go, so it runs on another thread and
    the loop keeps serving."""
    # The first import of prometheus_client takes 50 ms, so it runs on another thread.
    await asyncio.to_thread(import_module, "prometheus_client.core")
    from prometheus_client import CollectorRegistry, generate_latest

    # A separate registry is needed, because the library's default one adds figures of the process. auto_describe would make the metrics
    # once more to register them.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collected(await Scrape(running).families()))
    return await asyncio.to_thread(generate_latest, registry)
