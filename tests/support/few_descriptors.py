"""Runs a server with few free file descriptors in its own process: `python few_descriptors.py cold|warm PROFILE`.

It prints its port. `cold` imports nothing ahead of the first request. `warm` waits until a connection exists and everything is imported,
then takes all remaining descriptors and prints a second line. The process ends with its standard input.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys

from groupmock.config.resolve import resolve
from groupmock.net.warm_up import WarmUp
from groupmock.server.assembly import start
from groupmock.server.running import Running

LIMIT = 160


async def serve(kind: str, profile: str) -> None:
    running = await start(resolve({"port": 0, "profile": profile, "log": "off"}, {}))
    print(running.ports[0], flush=True)
    asyncio.get_running_loop().add_reader(sys.stdin, os._exit, 0)
    if kind == "cold":
        warm_up(running).cancel()
    else:
        exhaust_when_warm(running)
    await asyncio.Event().wait()


def warm_up(running: Running) -> WarmUp:
    assert running.server.warm_up is not None
    return running.server.warm_up


def exhaust_when_warm(running: Running) -> None:
    """Open every remaining descriptor once the server is warm."""
    if not warm_up(running).over or not running.server.driver.connections:
        asyncio.get_running_loop().call_later(0.01, exhaust_when_warm, running)
        return
    try:
        while True:
            os.dup(0)
    except OSError:
        print("exhausted", flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    asyncio.run(serve(*sys.argv[1:]))
