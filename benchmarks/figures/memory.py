"""Measures the resident memory of a joined member with its connection: 5,000 raw members in one group, 60 bytes of metadata each."""

from __future__ import annotations

from ..bench import Bench
from ..targets import TARGETS
from .storm import storm

KEYS = tuple(key for key in TARGETS if key.startswith("memory."))
MEMBERS = 5000


def run(bench: Bench) -> None:
    """Fill the figure from the growth of the server's memory between the first connection and the last SyncGroup."""
    members = int(bench.scaled(MEMBERS, 1000))
    for _ in range(bench.repeat):
        readings = bench.quiet.take(lambda: storm(bench, members))
        grown = (readings.generator["rss_kb"] - readings.generator["rss0_kb"]) * 1024 / 1000
        bench.results.add("memory.member", grown / members)
        connected = readings.generator["rss_conn_kb"] - readings.generator["rss0_kb"]
        bench.results.detail("of it for the connection, kB", connected * 1.024 / members)
