"""Computes CRC-32C, the checksum of record batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

CHECKED_AT_ONCE: Final = 256 * 1024


@cache
def crc32c() -> Callable[[bytes], int]:
    """Return the function that computes CRC-32C from a C library. The library is imported for the first record, not at the start."""
    import google_crc32c

    function: Callable[[bytes], int] = google_crc32c.value
    return function


def checksum(data: bytes, begin: int, crc: int = 0) -> int:
    """Return the CRC-32C of `data` from position `begin` on; `crc` is the checksum of preceding bytes (0: none). The library needs
    `bytes`, so the data are copied in pieces: one copy of 63 MB takes as long as all other work on it."""
    if not crc and len(data) <= CHECKED_AT_ONCE:
        return crc32c()(bytes(data[begin:]))
    from google_crc32c import extend

    for start in range(begin, len(data), CHECKED_AT_ONCE):
        crc = extend(crc, bytes(data[start : start + CHECKED_AT_ONCE]))
    return crc
