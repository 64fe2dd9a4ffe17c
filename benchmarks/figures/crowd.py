"""Measures how long a client waits beside peers that pipeline as fast as they can, or never read.

`workers.crowd` says what they ask for and which members are connected too. A run fails and gives no figure if a stock member was
rebalanced, or if the server ended later than two seconds after SIGTERM. Where kfake and Apache Kafka are installed, they are measured too.
"""

from __future__ import annotations

from functools import partial

from .. import servers
from ..bench import Bench
from ..generators import Failed, Missing
from ..targets import TARGETS
from ..workers.crowd import CASES, measured

KEYS = tuple(key for key in TARGETS if key.startswith("crowd."))
END_WITHIN_S = 2.0
PEERS = {"kfake": servers.kfake, "kafka": servers.kafka}


def run(bench: Bench) -> None:
    """Fill the p99 of the client's waits for each number of peers. For a single peer the worst kind of request counts."""
    seconds = bench.scaled(5, 2)
    for _ in range(1 if bench.quick else min(bench.repeat, 3)):
        worst: dict[str, float] = {}
        for case in CASES:
            readings = bench.quiet.take(partial(measured, case, bench.cores, seconds))
            if readings["callbacks"] or not readings["whole"]:
                raise Failed(f"{case}: stock members were rebalanced ({readings})")
            if readings["sigterm_s"] > END_WITHIN_S:
                raise Failed(f"{case}: the server ended {readings['sigterm_s']} s after SIGTERM")
            count, _, kind = case.partition(":")
            key = f"crowd.{kind if kind == 'silent' else count}"
            worst[key] = max(worst.get(key, 0.0), readings["p99_ms"])
            bench.results.detail(f"crowd {case}: longest wait of a bystander, ms", readings["longest_ms"])
            bench.results.detail(f"crowd {case}: seconds from SIGTERM to the end", readings["sigterm_s"])
        for key, milliseconds in worst.items():
            bench.results.add(key, milliseconds)
    for name in sorted(bench.peers & PEERS.keys()):
        for case in ("1:Heartbeat", "20:all"):
            try:
                readings = measured(case, bench.cores, seconds, PEERS[name])
            except (Missing, Failed) as reason:
                bench.results.note(f"crowd on {name}: {reason}")
                break
            bench.results.detail(f"crowd {case} on {name}: p99 of a bystander, ms", readings["p99_ms"])
