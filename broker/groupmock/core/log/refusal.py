"""The error of the data plane outside of a log, with Kafka's error code and message."""

from __future__ import annotations

from ..budget import fitting


class TopicRefused(ValueError):
    """A topic that cannot be created, changed or found."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, fitting(message)
