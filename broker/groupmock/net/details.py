"""What rides inside messages, for rows: decoded copies of subscriptions and assignments, and big record payloads left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..journal.rows import Payload

if TYPE_CHECKING:
    from groupmock_codec.declare import Message


class Details(NamedTuple):
    """A message as a row shows it."""

    message: Any
    embedded: dict[str, Any] | None
    payloads: list[Payload] | None


def details_of(key: int, message: Message | None, request: bool, wanted: bool) -> Details:
    """The message and what goes beside it. `wanted` False: nothing that costs time."""
    return Details(message, None, None)
