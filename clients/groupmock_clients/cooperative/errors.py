"""What the cooperative assignors refuse, and what they say of a peer that they cannot read."""

from __future__ import annotations

from importlib import metadata
from typing import Final

from groupmock_codec.extras import pip_install

KNOWN: Final = {"aiokafka": "0.14", "kafka-python": "3.0"}
"""The releases whose insides the assignors know: any patch of them will do."""
KEPT_BYTES: Final = 4096  # a member's data may be as large as a message


class UnsupportedClient(RuntimeError):
    """The installed client library is not one that these assignors know; the text names both versions."""


class UnreadableSubscription(RuntimeError):
    """A member's Subscription does not say what it holds. `member`, `data` (the first KEPT_BYTES of it), `assumed` in its place."""

    def __init__(self, member: str, data: bytes | None, assumed: str) -> None:
        shown = "null" if data is None else f"{len(data)} bytes {data[:64].hex()}{'...' if len(data) > 64 else ''}"
        super().__init__(f"member {member}: cannot read its PartitionAssignorData ({shown}); assumed that {assumed}")
        self.member, self.data, self.assumed = member, None if data is None else data[:KEPT_BYTES], assumed


class NotAttached(RuntimeError):
    """An assignor was used by a consumer that it was not told of: call `assignor.attach(consumer)` before the consumer starts."""


def require(distribution: str) -> None:
    """Raise UnsupportedClient unless a KNOWN version of it is installed; ModuleNotFoundError if it is not installed."""
    known = KNOWN[distribution]
    try:
        found = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise ModuleNotFoundError(f"{distribution} is not installed: {pip_install(f'cooperative-{distribution}')}") from None
    if found != known and not found.startswith(f"{known}."):
        raise UnsupportedClient(f"{distribution} {found} is installed; the cooperative assignors support {distribution} {known}.x")
