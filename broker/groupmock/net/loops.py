"""Which event loop: uvloop where there is one, plain asyncio elsewhere or with GROUPMOCK_LOOP=asyncio."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop of the chosen kind."""
    if os.environ.get("GROUPMOCK_LOOP", "uvloop") != "asyncio":
        try:
            import uvloop
        except ImportError:  # no uvloop on this platform
            return asyncio.new_event_loop()
        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on a loop of the chosen kind."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main)
