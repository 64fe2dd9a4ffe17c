"""Which event loop: uvloop, or asyncio where there is none or GROUPMOCK_LOOP=asyncio asks for it."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
Factory = Callable[[], asyncio.AbstractEventLoop]


class UnknownLoop(ValueError):
    """GROUPMOCK_LOOP names no loop; the text says which there are."""


def loop_factory(choice: str | None = None) -> Factory:
    """For `asyncio.Runner(loop_factory=...)`. `choice`: "uvloop", "asyncio", or None: what GROUPMOCK_LOOP says, else the best there is."""
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
    """A loop of the chosen kind."""
    return loop_factory()()


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on a loop of the chosen kind. Raises UnknownLoop before anything runs."""
    try:
        factory = loop_factory()
    except UnknownLoop:
        main.close()  # else Python warns of a coroutine that was never awaited, beside the one line for the user
        raise
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


def shorten_collections() -> None:
    """Have Python's collector pause the loop less. Called by a process that is groupmock's own, when it is ready to serve.

    What has been loaded by then stays as long as the process does: a full collection need not look at it, which takes 30 ms. With Python's
    own thresholds a group of thousands that comes into being has one such collection after the other.
    """
    gc.freeze()
    gc.set_threshold(2_000, 8, 200)
