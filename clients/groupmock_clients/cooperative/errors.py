"""Errors of the cooperative assignors: unsupported client versions and unreadable peers."""

from __future__ import annotations

from importlib import metadata
from typing import Final

from groupmock_codec.extras import pip_install

KNOWN: Final = {"aiokafka": "0.14", "kafka-python": "3.0"}
"""The releases whose internals the assignors know, with any patch version."""
KEPT_BYTES: Final = 4096  # The exception keeps only this many bytes of the data, because a member's data may be as large as a message.


class UnsupportedClient(RuntimeError):
    """The installed client library is not one that these assignors know. The text names both versions."""


class UnreadableSubscription(RuntimeError):
    """The Subscription of a member does not show its owned partitions.

    `data` has its first KEPT_BYTES, and `assumed` says what is assumed instead.
    """

    def __init__(self, member: str, data: bytes | None, assumed: str) -> None:
        shown = "null" if data is None else f"{len(data)} bytes {data[:64].hex()}{'...' if len(data) > 64 else ''}"
        super().__init__(f"member {member}: cannot read its PartitionAssignorData ({shown}); assumed that {assumed}")
        self.member, self.data, self.assumed = member, None if data is None else data[:KEPT_BYTES], assumed


class NotAttached(RuntimeError):
    """An assignor without a consumer was used: call `assignor.attach(consumer)` before the consumer starts."""


def require(distribution: str) -> None:
    """Raise UnsupportedClient unless a KNOWN version of the library is installed, or ModuleNotFoundError if the library is missing."""
    known = KNOWN[distribution]
    try:
        found = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise ModuleNotFoundError(f"{distribution} is not installed: {pip_install(f'cooperative-{distribution}')}") from None
    if found != known and not found.startswith(f"{known}."):
        raise UnsupportedClient(f"{distribution} {found} is installed; the cooperative assignors support {distribution} {known}.x")
