"""A random source that gives chosen values, to replay a run of another broker or to know ids beforehand."""

from __future__ import annotations

from base64 import b64decode
from collections import deque
from random import Random

from ..core.dice import Dice


class FedDice(Dice):
    """A random source that gives the values of `fed`, oldest first, and random values when `fed` is empty.

    `fed` has texts: a member id's UUID as Java prints it or as 32 hex digits, 16 bytes in base64, or a number in decimal. `drew` has all
    UUID texts that were given, fed or random. The random ids are 128 bits without the marks of a version-4 UUID."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        super().__init__(self.random)
        self.fed: deque[str] = deque()
        self.drew: list[str] = []

    def uuid_text(self) -> str:
        """Return a UUID in the form that Java prints."""
        text = self.fed.popleft() if self.fed else f"{self.random.getrandbits(128):032x}"
        text = text if len(text) >= 32 else b64decode(text).hex()
        text = text if len(text) == 36 else f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        self.drew.append(text)
        return text

    def uuid_bytes(self) -> bytes:
        """Return sixteen bytes, taken from `fed` or random."""
        if not self.fed:
            return self.random.getrandbits(128).to_bytes(16, "big")
        text = self.fed.popleft()
        return bytes.fromhex(text.replace("-", "")) if len(text) >= 32 else b64decode(text)

    def below(self, limit: int) -> int:
        """Return a number that is at least 0 and below `limit`."""
        return int(self.fed.popleft()) % limit if self.fed else self.random.getrandbits(64) % limit
