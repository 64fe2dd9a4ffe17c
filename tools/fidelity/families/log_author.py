"""Write scripts of the log family, with random versions, topics and partitions."""

from __future__ import annotations

from random import Random
from typing import Final

from ..generated.script import Json, Script, request, topic, topic_id
from ..generated.settings_classes import known

OLDEST: Final = {0: 3, 1: 4}
"""The lowest versions in use, because Kafka converts and pads the record formats of older versions in its own way."""


class LogAuthor:
    """Writes one script of the log family. `sessions`: client -> the epoch that its fetch session expects next."""

    def __init__(self, script: Script, rng: Random) -> None:
        self.script, self.rng = script, rng
        self.versions: dict[int, tuple[int, int]] = known(script.release, script.settings).versions
        self.sessions: dict[str, int] = {}

    def version(self, key: int) -> int:
        """Return a random version of an API that the release has."""
        low, high = self.versions[key]
        lowest: int = max(low, OLDEST.get(key, 0))
        return self.rng.randint(lowest, high)

    def send(self, key: int, fields: dict[str, Json], version: int | None = None, client: str | None = None) -> None:
        self.script.steps.append(request(client or self.rng.choice("AB"), key, self.version(key) if version is None else version, fields))

    def topic(self) -> int:
        """Return the number of a topic, sometimes of a topic that does not exist."""
        count = len(self.script.topics)
        number: int = self.rng.choice([*(list(range(1, count + 1)) * 3), count + 1])
        return number

    def partition(self) -> int:
        """Return a partition number, sometimes one that the topic does not have."""
        return self.rng.choice((0, 0, 0, 1, 1, 7, -1) if self.rng.random() < 0.3 else (0, 1))

    def named(self, number: int, version: int, ids_since: int, name: str) -> dict[str, Json]:
        """Return a topic as a name, or in newer versions as an id."""
        return {"topic_id": topic_id(number)} if version >= ids_since else {name: topic(number)}
