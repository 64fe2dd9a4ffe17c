"""The core's only source of chance: it draws from a seed, so that a run can be repeated and replayed."""

from __future__ import annotations

from typing import Protocol


class Bits(Protocol):
    """The methods of a random generator that the core needs. `random.Random` has them; the core itself never imports `random`."""

    def getrandbits(self, k: int, /) -> int:
        """Return a non-negative int of k random bits."""

    def seed(self, seed: int, /) -> None:
        ...


class Dice:
    """The dice of a core, which draw ids from a seeded generator in order."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits

    def reseed(self, seed: int) -> None:
        """Seed the generator, so that it draws as at the beginning of a run with that seed."""
        self._bits.seed(seed)

    def uuid_text(self) -> str:
        """Return a random (version 4) UUID as Java prints it: 8-4-4-4-12 lower-case hex. Member ids end in one
        (docs/kafka/group-protocol.md#records)."""
        value = self._uuid()
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def uuid_bytes(self) -> bytes:
        """Return a random (version 4) UUID as 16 bytes: a topic id."""
        return self._uuid().to_bytes(16, "big")

    def short_id(self) -> str:
        """Return 22 characters of base64url, as Kafka's Uuid prints itself. It never begins with a dash, which a shell would take for a
        flag (Uuid.randomUuid)."""
        from base64 import urlsafe_b64encode  # Imported here, because a server listens before it needs it

        while (text := urlsafe_b64encode(self.uuid_bytes()).decode()[:22]).startswith("-"):
            pass
        return text

    def below(self, limit: int) -> int:
        """Return a number in [0, limit)."""
        return self._bits.getrandbits(64) % limit

    def _uuid(self) -> int:
        return _version_4(self._bits.getrandbits(128))


def uuid_of(text: str) -> bytes:
    """Return a UUID of 16 bytes that looks drawn and is always the same for the same text."""
    from hashlib import sha256  # Imported here, because a server listens before it needs it

    return _version_4(int.from_bytes(sha256(text.encode()).digest()[:16])).to_bytes(16)


def _version_4(value: int) -> int:
    value = value & ~(0xF << 76) | (4 << 76)
    return value & ~(0x3 << 62) | (0x2 << 62)
