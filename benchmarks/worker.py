"""Runs a module of `benchmarks.workers` in a process of its own, which reports what it has measured as one line of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from . import servers
from .generators import Failed
from .machine import pinned


def report_of(worker: str, *words: object, core: int | None = None, more: Mapping[str, str] | None = None) -> Any:
    """Return the report of a worker, which runs on the core, or on all cores. `more` has further environment variables. Raises Failed."""
    command = [sys.executable, "-m", f"benchmarks.workers.{worker}", *map(str, words)]
    with nullcontext() if core is None else pinned(core):
        done = subprocess.run(
            command, cwd=servers.ROOT, env={**servers.environment(), **(more or {})}, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise Failed(f"the worker {worker} exited {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout)
