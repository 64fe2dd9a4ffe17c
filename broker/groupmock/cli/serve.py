"""Serve a mock cluster until SIGINT or SIGTERM.

Prints ONE JSON line on stdout when it answers: {"ready": true, "bootstrap": ..., "nodes": [...], "control": null, "journal": ...,
"seed": ..., "pid": ..., "version": ...}. Logs go to stderr. Exit codes: 0 ended by a signal, 2 bad use, 3 could not start or the
journal could not be written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import BAD_USE, CANNOT_START, OK
from ._options import ConfigError, add_options, bad_use, complain, plain_arguments, resolve_arguments, tell_not_copied

if TYPE_CHECKING:
    import argparse

    from ..config.resolve import Config


__all__ = ["add_arguments", "plain_arguments", "run", "serve"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        config = resolve_arguments(arguments)
    except ConfigError as bad:
        complain("serve", bad)
        return BAD_USE
    return serve(config)


def serve(config: Config) -> int:
    """Serve until a signal comes and return the exit code."""
    from ..net.loops import run as run_loop
    from ..server.running import CannotStart

    try:
        trouble = run_loop(_serve(config))
    except bad_use(config) as bad:
        complain("serve", bad)
        return BAD_USE
    except CannotStart as cannot:
        complain("serve", cannot)
        return CANNOT_START
    if trouble is not None:
        complain("serve", trouble)
        return CANNOT_START
    return OK


async def _serve(config: Config) -> Exception | None:
    import asyncio
    import os
    import signal

    from ..net.loops import shorten_collections
    from ..server.assembly import start

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    running = await start(config, on_failure=stop.set, stories=config.control is not None)
    tell_not_copied("serve", running.not_copied)
    control = None
    if config.control is not None:
        from ..control.start import start_control

        control = await start_control(config, running, stop.set)
    shorten_collections()
    os.write(1, running.ready_line(control.url if control is not None else None))
    await stop.wait()
    if control is not None:
        await control.close()
        running = control.running  # A reset replaces the `Running` object.
    return await running.close()
