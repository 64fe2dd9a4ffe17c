"""How a check says what it wants: `wait` for something to become true, `same` for something that must be so now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

PATIENCE = float(os.environ.get("GROUPMOCK_INTEROP_PATIENCE", "30"))
"""The longest wait of a check, in seconds. A static member's session and Connect's delay, within which a killed process must be back, grow
with it for busy machines."""


class Mismatch(Exception):
    """A check saw something else than it must."""


def wait(what: str, done: Callable[[], bool], seen: Callable[[], object], seconds: float = 0) -> float:
    """Poll until `done`; at most so many `seconds` (0: PATIENCE); returns how many it took. Raises Mismatch with what was seen last."""
    began, seconds = time.monotonic(), seconds or PATIENCE
    while not done():
        if time.monotonic() - began > seconds:
            raise Mismatch(f"{what}: not within {seconds:.0f} s; last seen: {seen()}")
        time.sleep(0.02)
    return time.monotonic() - began


def same(what: str, expected: object, actual: object) -> None:
    """Insist that both are equal."""
    if expected != actual:
        raise Mismatch(f"{what}: expected {expected}, got {actual}")
