"""Which partition a record goes to that names none: what Kafka's producers choose (BuiltInPartitioner, Utils.murmur2)."""

from __future__ import annotations

from typing import Final

MASK: Final = 0xFFFFFFFF
MIX: Final = 0x5BD1E995
SEED: Final = 0x9747B28C
POSITIVE: Final = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key, as an unsigned 32-bit number."""
    h = (SEED ^ len(data)) & MASK
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * MIX & MASK
        k = (k ^ (k >> 24)) * MIX & MASK
        h = (h * MIX & MASK) ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * MIX & MASK
    h = (h ^ (h >> 13)) * MIX & MASK
    return h ^ (h >> 15)


class Placing:
    """Partitions for the records of one topic. Records without a key go to them in turn, from 0 on, where a producer would stay with one
    drawn by lot for a while (KIP-794): the same file is the same log."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._next = 0

    def choose(self, key: bytes | None) -> int:
        """The partition of a record with that key."""
        if key is not None:
            return (murmur2(key) & POSITIVE) % self._partitions
        found, self._next = self._next, (self._next + 1) % self._partitions
        return found
