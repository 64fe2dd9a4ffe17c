from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0


def until(what: str, done: Callable[..., object], seen: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until `done()` is true, or fail after `patience` seconds with the result of `seen()`."""
    end = time.monotonic() + patience
    while not done():
        assert time.monotonic() < end, f"{what}: not within {patience:g} s; last seen: {seen()}"
        time.sleep(0.005)
