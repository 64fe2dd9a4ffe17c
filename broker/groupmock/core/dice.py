"""The dice are the core's only random source, and are seeded so that a run can be repeated and replayed."""

from __future__ import annotations

from typing import Protocol


class Bits(Protocol):
    """The methods that the core needs of a random generator. `random.Random` has them; the core itself never imports `random`."""

    def getrandbits(self, k: int, /) -> int:
        """Return a non-negative int of `k` random bits."""

    def seed(self, seed: int, /) -> None:
        ...


class Dice:
    """Draws ids from a seeded random generator."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits

    def reseed(self, seed: int) -> None:
        """Set the seed, so that the same ids are drawn as at the beginning of a run with this seed."""
        self._bits.seed(seed)

    def uuid_text(self) -> str:
        """Return a random (version 4) UUID as Java prints it: 8-4-4-4-12 lower-case hex. Member ids end in one
        (docs/kafka/group-protocol.md#records)."""
        value = self._uuid()
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def uuid_bytes(self) -> bytes:
        """Return a random (version 4) UUID as 16 bytes, for a topic id."""
        return self._uuid().to_bytes(16, "big")

    def short_id(self) -> str:
        """Return a random id of 22 characters of base64url, as Kafka's Uuid prints it. It never begins with a dash, which a shell would
        take for a flag (Uuid.randomUuid)."""
        from base64 import urlsafe_b64encode  # This import is late, because a server that only listens does not need it.

        while (text := urlsafe_b64encode(self.uuid_bytes()).decode()[:22]).startswith("-"):
            pass
        return text

    def below(self, limit: int) -> int:
        """Return a random number in [0, limit)."""
        return self._bits.getrandbits(64) % limit

    def _uuid(self) -> int:
        return _version_4(self._bits.getrandbits(128))


def uuid_of(text: str) -> bytes:
    """Return a UUID of 16 bytes that looks random but is always the same for the same text."""
    from hashlib import sha256  # This import is late, because a server that only listens does not need it.

    return _version_4(int.from_bytes(sha256(text.encode()).digest()[:16])).to_bytes(16)


def _version_4(value: int) -> int:
    value = value & ~(0xF << 76) | (4 << 76)
    return value & ~(0x3 << 62) | (0x2 << 62)
