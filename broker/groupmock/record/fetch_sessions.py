"""An observer between client and node follows fetch sessions (KIP-227), to know the partitions of a Fetch that names none.

A full fetch (epoch 0) whose answer has a session id begins a session with the partitions that it named. A later fetch adds the partitions
that it names and removes those that it forgets, and a final one (epoch -1) ends the session. The number of sessions is bounded, and the
oldest is dropped first, because the node may have forgotten it long ago. A fetch in an unknown session means the partitions that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from groupmock_codec.messages.k01_fetch import FetchRequest, FetchResponse

MOST_SESSIONS: Final = 1_000
MOST_PARTITIONS: Final = 100_000
"""At most this many partitions are kept in all sessions. The oldest session is forgotten if there are more, and a session that alone has
more is not kept."""
FULL: Final = 0
FINAL: Final = -1
Named = tuple[str, bytes, int]
"""A partition as (topic name or "", topic id or zeros, partition number)."""


class HeardSessions:
    """The observed fetch sessions of every node. `name_of` maps topic ids to names, if known."""

    def __init__(self, name_of: Callable[[bytes], str | None]) -> None:
        self._name_of = name_of
        self._sessions: dict[tuple[int, int], dict[Named, None]] = {}
        self._partitions = 0  # The number of partitions in all sessions.

    def asked(self, node: int, request: FetchRequest) -> None:
        """Update the session of a Fetch that is sent to its node."""
        place = (node, request.session_id)
        session = self._sessions.get(place)
        if request.session_epoch in (FULL, FINAL) or session is None:
            self._end(place)
            return
        before = len(session)
        session.update(dict.fromkeys(_named(request.topics)))
        for topic in request.forgotten_topics_data:
            for partition in topic.partitions:
                session.pop((topic.topic, topic.topic_id, partition), None)
        self._partitions += len(session) - before
        self._bound()

    def answered(self, node: int, request: FetchRequest, response: FetchResponse) -> None:
        """Add the session that the answer to a full fetch has begun."""
        if request.session_epoch != FULL or not response.session_id or response.error_code:
            return
        self._end((node, response.session_id))
        session = self._sessions[node, response.session_id] = dict.fromkeys(_named(request.topics))
        self._partitions += len(session)
        self._bound()

    def _end(self, place: tuple[int, int]) -> None:
        self._partitions -= len(self._sessions.pop(place, ()))

    def _bound(self) -> None:
        while self._partitions > MOST_PARTITIONS or len(self._sessions) > MOST_SESSIONS:
            self._end(next(iter(self._sessions)))

    def partitions(self, node: int, session_id: int) -> Iterator[tuple[str | None, bytes, int]]:
        """Yield (topic, topic id, partition) for each partition of a fetch session. The topic is None if its id has no known name."""
        for topic, topic_id, partition in self._sessions.get((node, session_id), ()):
            yield topic or self._name_of(topic_id), topic_id, partition


def _named(topics: list[Any]) -> Iterator[Named]:
    return ((topic.topic, topic.topic_id, each.partition) for topic in topics for each in topic.partitions)
