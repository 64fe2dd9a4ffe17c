"""Measures how long N stock consumers of one group need to hold all 60 partitions, beyond the initial rebalance delay.

Kafka's rule makes the delay countable: it starts with the first member and is extended once by its own length if more members joined
meanwhile (KIP-134). The delay is so long that everybody joins within it; one consumer then waits for it once and several wait for it twice,
on Kafka as on groupmock. The rest of the time is compared, round by round, with the same consumers against `peers.floor`, a coordinator
that does nothing but answer after exactly that wait.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

from .. import servers
from ..bench import Bench
from ..generators import Failed, Missing, RunningServer
from ..machine import pinned
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("settle."))
DELAY = 0.5
TOPIC, PARTITIONS = "settle", 60
TRIES = {"aiokafka": 1, "confluent": 3}
"""The number of attempts, of which the quickest counts, on both sides: librdkafka finds its coordinator on one of its ticks of 50 ms,
and chance decides on which."""
LIMITS_MS = {1: 7, 10: 26, 50: 110}
"""Maps a number of consumers to the milliseconds that they needed on the machine of the first measurements, shown beside ours for
comparison."""


def wait_of(count: int) -> float:
    """Return the seconds for which the coordinator waits on purpose until that many consumers have joined."""
    return DELAY if count == 1 else 2 * DELAY


def seconds_beyond(bench: Bench, client: str, count: int, server: RunningServer) -> float:
    """Start one fresh process of consumers and return the seconds until they hold all partitions, minus the coordinator's intended wait."""
    command = [sys.executable, "-m", "benchmarks.workers.consumers", client, str(count), server.bootstrap, TOPIC, str(PARTITIONS)]
    with pinned(bench.cores.load):
        done = subprocess.run(command, cwd=servers.ROOT, env=servers.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{count} {client} consumers: {done.stderr[-300:]}")
    seconds = float(json.loads(done.stdout)["seconds"]) - wait_of(count)
    if seconds <= 0:
        raise Failed(
            f"{count} {client} consumers settled {-seconds:.3f} s before the delay could end: the server does not wait as Kafka does"
        )
    return seconds


def floor(bench: Bench, client: str, count: int) -> float:
    """Measure the consumers against a coordinator that only answers (peers/floor.py), which gives the least possible time."""
    command = [sys.executable, "-m", "benchmarks.peers.floor", str(count), str(wait_of(count)), TOPIC, str(PARTITIONS)]
    with servers.started(command, bench.cores) as server:
        return seconds_beyond(bench, client, count, server)


def ours(bench: Bench, client: str, count: int) -> float:
    flags = ["--topic", f"{TOPIC}:{PARTITIONS}", "--set", f"group.initial.rebalance.delay.ms={DELAY * 1000:.0f}"]
    with servers.groupmock(bench.cores, *flags) as server:
        return seconds_beyond(bench, client, count, server)


def quickest(bench: Bench, against: Callable[[Bench, str, int], float], client: str, count: int) -> float:
    """Return the least time of several attempts, each with fresh processes."""
    tries = 1 if bench.quick else TRIES[client]
    return min(bench.quiet.take(lambda: against(bench, client, count)) for _ in range(tries))


def run(bench: Bench) -> None:
    if servers.product_missing():
        raise Missing(str(servers.product_missing()))
    for key in KEYS:
        _, client, count = key.split(".")
        for _ in range(bench.repeat):
            least = quickest(bench, floor, client, int(count))
            taken = quickest(bench, ours, client, int(count))
            bench.results.add(key, taken / least)
            name = f"{count} {client} consumers beyond the delay"
            bench.results.detail(f"{name}, ms (clients' floor here; {LIMITS_MS[int(count)]} on the first machine)", least * 1e3)
            bench.results.detail(f"{name}, ms (groupmock)", taken * 1e3)
