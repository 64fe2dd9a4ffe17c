"""The judge (being written): names the place of what the compiled form refused."""

from __future__ import annotations

from .declare import Message
from .errors import Place


def why_not_decoded(message: type[Message], version: int, flexible: bool, data: bytes) -> Place:
    """The first place where these bytes stop being such a message."""
    return Place("malformed")


def why_not_encoded(message: type[Message], version: int, flexible: bool, value: object) -> Place:
    """The first field that this version cannot carry."""
    return Place("not writable in this version")
