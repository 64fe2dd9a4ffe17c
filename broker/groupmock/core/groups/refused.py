"""A request about a group is refused as a whole, with Kafka's error code and text."""

from __future__ import annotations


class Refused(Exception):
    """The request is refused with Kafka's error code and message, and nothing was changed."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
