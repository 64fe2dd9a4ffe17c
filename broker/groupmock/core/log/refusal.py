
"""A refusal is an error of the data plane outside of a log, with Kafka's error code and message."""

from __future__ import annotations

from ..budget import fitting


class TopicRefused(ValueError):
    """The request for a topic is refused with Kafka's error code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, fitting(message)
