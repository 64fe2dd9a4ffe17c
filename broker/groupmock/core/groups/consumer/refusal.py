"""A heartbeat that is refused: Kafka's code and words."""

from __future__ import annotations


class Refused(Exception):
    """`code`, and the text that is answered with it; nothing was changed."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
