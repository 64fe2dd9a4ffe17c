"""Gives memory back to the system after a large phase: the messages about thousands of members are gone, but the C library keeps their
memory (0.3 kB a member). This module is imported in an idle moment (`needed`), because `ctypes` takes milliseconds."""

from __future__ import annotations

import ctypes
import sys
import time
from typing import Final

from groupmock_codec.units import NS_PER_S

SELDOM_NS: Final = NS_PER_S // 10
"""The least time between two calls of malloc_trim, which take longer the more memory the process has."""
_release: Final = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None  # Only glibc has malloc_trim.
_last: list[int] = []


def give_back(now: int | None = None) -> bool:
    """Give free memory back to the system, and return whether that was done: it is done seldom, and only where malloc_trim(3) exists.
    `now` is the time of the monotonic clock in ns."""
    now = time.monotonic_ns() if now is None else now
    if _release is None or (_last and now - _last[0] < SELDOM_NS):
        return False
    _last[:] = [now]
    _release(0)
    return True
