"""A server with few file descriptors, as a process of its own: `python few_descriptors.py cold|warm PROFILE`.

Prints its port. `cold`: nothing is imported ahead of the first request. `warm`: when a connection is there and everything was imported that
is imported ahead, all descriptors that are left are taken, and a second line says so. Ends with its standard input.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys

from groupmock.config.resolve import resolve
from groupmock.server.assembly import start
from groupmock.server.running import Running

LIMIT = 160


async def serve(kind: str, profile: str) -> None:
    running = await start(resolve({"port": 0, "profile": profile, "log": "off"}, {}))
    print(running.ports[0], flush=True)
    asyncio.get_running_loop().add_reader(sys.stdin, os._exit, 0)
    warming = running.server._warm
    assert warming is not None
    if kind == "cold":
        warming.cancel()
    else:
        exhaust_when_warm(running)
    await asyncio.Event().wait()


def exhaust_when_warm(running: Running) -> None:
    """Take every descriptor there is, in time."""
    if running.server._warm is not None or not running.server.driver.connections:
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
