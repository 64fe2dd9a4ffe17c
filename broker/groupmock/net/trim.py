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
LONGEST_NS: Final = NS_PER_S // 200
"""A call that took more CPU is the last one, because nobody is served meanwhile. (For 200 MB it takes 3 ms, for 800 MB 11 ms.) On a busy
machine a call takes longer without any fault of its own."""
NEVER: Final = sys.maxsize
_release: Final = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None  # Only glibc has malloc_trim.
_clock: Final = time.monotonic_ns
_cpu: Final = time.thread_time_ns
_not_before: list[int] = [0]


def give_back() -> bool:
    """Give free memory back to the system, and return whether that was done: it is done seldom, and only where malloc_trim(3) exists."""
    began = _clock()
    if _release is None or began < _not_before[0]:
        return False
    spent = _cpu()
    _release(0)
    _not_before[0] = NEVER if _cpu() - spent > LONGEST_NS else began + SELDOM_NS
    return True
