"""CRC-32C, the checksum of record batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

CHECKED_AT_ONCE: Final = 256 * 1024


@cache
def crc32c() -> Callable[[bytes], int]:
    """The CRC-32C function; its C library is imported at the first record, not at start."""
    import google_crc32c

    function: Callable[[bytes], int] = google_crc32c.value
    return function


def checksum(data: bytes, begin: int, crc: int = 0) -> int:
    """The CRC-32C of `data` from `begin` on, behind bytes with that CRC (0: behind none). The library wants bytes of their own, which are
    copied a piece at a time: a copy of 63 MB takes as long as all that is done with them."""
    if not crc and len(data) <= CHECKED_AT_ONCE:
        return crc32c()(bytes(data[begin:]))
    from google_crc32c import extend

    for at in range(begin, len(data), CHECKED_AT_ONCE):
        crc = extend(crc, bytes(data[at : at + CHECKED_AT_ONCE]))
    return crc
