
"""The error with which a request about a topic or another resource is refused, with Kafka's error code and message."""

from __future__ import annotations

from ..budget import fitting


class TopicRefused(ValueError):
    """A request about a topic or another resource is refused with Kafka's error code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, fitting(message)
