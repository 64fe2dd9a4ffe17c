"""The choice of the event loop: uvloop, or asyncio if it is not installed or GROUPMOCK_LOOP=asyncio asks for it."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
Factory = Callable[[], asyncio.AbstractEventLoop]


class UnknownLoop(ValueError):
    """Raised if GROUPMOCK_LOOP names no known event loop. The text lists the known loops."""


def loop_factory(choice: str | None = None) -> Factory:
    """Return a factory for `asyncio.Runner(loop_factory=...)`. `choice` is "uvloop", "asyncio", or None for the value of GROUPMOCK_LOOP,
    and without that the best available loop."""
    wanted = choice or os.environ.get("GROUPMOCK_LOOP", "")
    if wanted not in ("", "uvloop", "asyncio"):
        raise UnknownLoop(f"GROUPMOCK_LOOP={wanted}: there are uvloop and asyncio")
    if wanted == "asyncio":
        return asyncio.new_event_loop
    try:
        import uvloop
    except ImportError:
        if wanted:
            raise
        return asyncio.new_event_loop
    factory: Factory = uvloop.new_event_loop
    return factory


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of the kind that GROUPMOCK_LOOP chooses."""
    return loop_factory()()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine like `asyncio.run`, on a loop of the kind that GROUPMOCK_LOOP chooses. Raises UnknownLoop before anything runs."""
    try:
        factory = loop_factory()
    except UnknownLoop:
        main.close()  # Without this line Python would warn of a coroutine that was never awaited.
        raise
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


def shorten_collections() -> None:
    """Shorten the pauses of Python's garbage collector. A process of groupmock's own calls this when it is ready to serve.

    What is loaded by then stays as long as the process, so a full collection need not look at it, which takes 30 ms. With Python's own
    thresholds a growing group of thousands has one such collection after the other."""
    gc.enable()  # The command line has switched it off until now.
    gc.freeze()
    gc.set_threshold(2_000, 8, 200)
