"""Log the reason of an enforced rebalance and pass it to hooks, because neither client library can send a reason in JoinGroup v8.

    with Broker(journal="journal.jsonl") as broker:
        asked.hooks.append(asked.client_rows(broker.client_says))
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

log = logging.getLogger("groupmock.cooperative")


@dataclass(frozen=True, slots=True)
class EnforcedRebalance:
    """A call of `enforce_rebalance` that started a rebalance. `client` is the consumer's client id, and `reason` is None if none was
    given."""

    client: str
    member: str
    group: str
    reason: str | None


class ClientSays(Protocol):
    """The signature of `groupmock.Broker.client_says`, which this package must not import."""

    def __call__(self, client: str, what: str, **fields: str | None) -> None:
        """Append a `client` row to the journal."""


hooks: list[Callable[[EnforcedRebalance], None]] = []
"""The functions that are called for every enforced rebalance, on the caller's thread, before the member joins. Exceptions are logged."""


def client_rows(client_says: ClientSays) -> Callable[[EnforcedRebalance], None]:
    """Return a hook that appends a `client` row to the journal for every enforced rebalance. The row says `asked` and has the fields
    member, group and reason."""

    def keep(asked: EnforcedRebalance) -> None:
        client_says(asked.client, "asked", member=asked.member, group=asked.group, reason=asked.reason)

    return keep


def tell(asked: EnforcedRebalance) -> None:
    """Log the enforced rebalance and run every hook."""
    log.info("%s joins group %s again: %s", asked.member, asked.group, asked.reason or "no reason given")
    for hook in list(hooks):
        try:
            hook(asked)
        except Exception:
            log.exception("a hook for the reason of a rebalance failed")
