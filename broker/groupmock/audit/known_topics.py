"""Remember what a journal shows about the numbers of partitions of topics.

A journal of groupmock has a note of every topic that is created, grown or deleted. A recording in front of a real cluster has only the
answers to Metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rounds.fold import CREATED, DELETED, GROWN

if TYPE_CHECKING:
    from ..journal.rows import NoteRow
    from .subjects import Json


class KnownTopics:
    """The numbers of partitions of topics. `last` maps topics to the number in the last answer to Metadata, `most` to the highest number
    that the journal has shown, and `names` maps topic ids to names."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.names: dict[str, str] = {}
        self._steps: dict[str, list[tuple[int, int]]] = {}  # Maps topics to their numbers of partitions, each with its first time (ns).

    def noted(self, row: NoteRow) -> None:
        """Read a note, which may be about another subject."""
        if row.what not in (CREATED, GROWN, DELETED):
            return
        topic = str(row.fields["topic"])
        if row.what == DELETED:
            self._steps.pop(topic, None)
            return
        steps = self._steps.setdefault(topic, [])
        steps.append((row.t, int(row.fields["partitions"])))
        self._shown({topic: steps[-1][1]})

    def hears(self, answer: Json) -> dict[str, int]:
        """Read an answer to Metadata. Return the topics that it shows, with their numbers of partitions."""
        counts: dict[str, int] = {}
        for topic in answer["topics"]:
            name = topic.get("name")
            if not topic["error_code"] and name is not None:
                counts[str(name)] = len(topic["partitions"])
                if topic.get("topic_id"):
                    self.names[str(topic["topic_id"])] = str(name)
        self.last.update(counts)
        self._shown(counts)
        return counts

    def _shown(self, counts: dict[str, int]) -> None:
        for topic, count in counts.items():
            if self.most.get(topic, 0) < count:
                self.most[topic] = count

    def existed(self, topic: str, since: int) -> int:
        """Return how many partitions of a topic exist since this time (ns) at the latest; 0 if the notes do not say so."""
        return max((count for at, count in self._steps.get(topic, ()) if at <= since), default=0)

    def exist(self, topic: str) -> int | None:
        """Return how many partitions a topic has; None if no note says so."""
        steps = self._steps.get(topic)
        return steps[-1][1] if steps else None

    def lost(self) -> None:
        """Forget what exists, because a note may be missing."""
        self._steps.clear()
