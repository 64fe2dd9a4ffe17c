"""Chooses the partition of a record that names none, as Kafka's producers do (BuiltInPartitioner, Utils.murmur2)."""

from __future__ import annotations

from typing import Final

MASK: Final = 0xFFFFFFFF
MIX: Final = 0x5BD1E995
SEED: Final = 0x9747B28C
POSITIVE: Final = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """Return Kafka's hash of a key as an unsigned 32-bit number."""
    h = (SEED ^ len(data)) & MASK
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * MIX & MASK
        k = (k ^ (k >> 24)) * MIX & MASK
        h = (h * MIX & MASK) ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * MIX & MASK
    h = (h ^ (h >> 13)) * MIX & MASK
    return h ^ (h >> 15)


class Placing:
    """Chooses partitions for the records of one topic. Records without a key go to all partitions in turn from 0 on, so that the same
    file gives the same log. A producer would stay with a random partition for a while (KIP-794)."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._next = 0

    def choose(self, key: bytes | None) -> int:
        """Return the partition of a record with that key."""
        if key is not None:
            return (murmur2(key) & POSITIVE) % self._partitions
        chosen, self._next = self._next, (self._next + 1) % self._partitions
        return chosen
