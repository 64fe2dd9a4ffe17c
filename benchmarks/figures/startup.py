"""Measures the CPU time from exec of `groupmock serve --port 0`, with the defaults of all flags, to its ready line, and its first join.

The measure of the start is `python -c "import uvloop"` in the same round: no server on this stack can be faster. Warm means that the first
JoinGroup of a new server costs as much as the hundredth; the client sends it as soon as it has read the ready line and is connected.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from groupmock_codec.api_keys import FIND_COORDINATOR, JOIN_GROUP

from .. import servers
from ..bench import Bench
from ..generators import Missing
from ..join import SocketLink, join_request, string
from ..machine import cpu_seconds, pinned
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("startup."))
ROUNDS_PER_REPEAT = 3
JOINS = 110
AROUND_THE_HUNDREDTH = slice(90, JOINS)


def seconds_to_import(bench: Bench) -> float:
    """Return the CPU seconds of a bare interpreter that imports uvloop."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pinned(bench.cores.server):
        subprocess.run([sys.executable, "-c", "import uvloop"], env=servers.environment(), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds_to_ready(bench: Bench) -> tuple[float, float]:
    """Return the CPU seconds that groupmock takes from exec to its ready line, and the ratio of its first JoinGroup to the hundredth."""
    with servers.started(servers.groupmock_command(), bench.cores) as server:
        taken = cpu_seconds(server.pid)
        link = SocketLink.to(server.endpoint)
        link.call(FIND_COORDINATOR, 0, string("startup"))  # As every client does; it creates the offsets topic.
        costs = []
        for _ in range(JOINS):  # Each JoinGroup has no member id and is answered with one.
            before = cpu_seconds(server.pid)
            link.call(JOIN_GROUP, 5, join_request("startup", ""))
            costs.append(cpu_seconds(server.pid) - before)
        link.sock.close()
    return taken, costs[0] / statistics.median(costs[AROUND_THE_HUNDREDTH])


def run(bench: Bench) -> None:
    """Fill the ratios of the start and of the first JoinGroup. The first round warms the page cache and does not count."""
    missing = servers.product_missing()
    if missing:
        raise Missing(missing)
    seconds_to_import(bench), seconds_to_ready(bench)
    for _ in range(bench.repeat * ROUNDS_PER_REPEAT):
        bare = bench.quiet.take(lambda: seconds_to_import(bench))
        ready, first = bench.quiet.take(lambda: seconds_to_ready(bench))
        bench.results.add("startup.ready", ready / bare)
        bench.results.add("startup.first", first)
        bench.results.detail("CPU from exec to the ready line, ms", ready * 1e3)
        bench.results.detail("CPU of python -c 'import uvloop', ms", bare * 1e3)
