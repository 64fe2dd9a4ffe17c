"""What a test sees of a log: plain frozen values, copied on the server's thread. (Of groups: core.groups.view.)"""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True):
    """One record of a log. `timestamp` is ms since 1970."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
