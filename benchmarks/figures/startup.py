"""Measures the time from exec of `groupmock serve --port 0`, with the defaults of all flags, to its first ApiVersions response.

The measure is `python -c "import uvloop"` in the same round: no server on this stack can be faster.
"""

from __future__ import annotations

import subprocess
import sys
import time

from .. import servers
from ..bench import Bench
from ..generators import Missing
from ..join import SocketLink
from ..machine import pinned
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("startup."))
ROUNDS_PER_REPEAT = 3


def seconds_to_import(bench: Bench) -> float:
    """Return the seconds from exec to exit of a bare interpreter that imports uvloop."""
    with pinned(bench.cores.server):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import uvloop"], env=servers.environment(), check=True)
        return time.perf_counter() - begin


def seconds_to_answer(bench: Bench) -> float:
    """Return the seconds that groupmock takes from exec to the first response on the port that its ready line names."""
    begin = time.perf_counter()
    with servers.started(servers.groupmock_command(), bench.cores) as server:
        link = SocketLink.to(server.endpoint)
        taken = time.perf_counter() - begin
        link.sock.close()
    return taken


def run(bench: Bench) -> None:
    """Fill the ratio of groupmock's startup time to that of a bare interpreter. The first round warms the page cache and does not count."""
    missing = servers.product_missing()
    if missing:
        raise Missing(missing)
    seconds_to_import(bench), seconds_to_answer(bench)
    for _ in range(bench.repeat * ROUNDS_PER_REPEAT):
        bare = bench.quiet.take(lambda: seconds_to_import(bench))
        ours = bench.quiet.take(lambda: seconds_to_answer(bench))
        bench.results.add("startup.ready", ours / bare)
        bench.results.detail("exec to first answer, ms", ours * 1e3)
        bench.results.detail("python -c 'import uvloop', ms", bare * 1e3)
