"""The reason of an enforce_rebalance: neither library can send it (JoinGroup 8), so it is logged and told to whoever wants to keep it.

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
    """One call that started a round. `client`: the client id of the consumer; `reason` None: none was given."""

    client: str
    member: str
    group: str
    reason: str | None


class ClientSays(Protocol):
    """`groupmock.Broker.client_says`, which this package must not import."""

    def __call__(self, client: str, what: str, **fields: str | None) -> None:
        """Append a `client` row."""


hooks: list[Callable[[EnforcedRebalance], None]] = []
"""Called for every call that asked, on its thread, before the member joins. What one raises is logged."""


def client_rows(client_says: ClientSays) -> Callable[[EnforcedRebalance], None]:
    """A hook that makes every call a `client` row: what `asked`; fields member, group, reason."""

    def keep(asked: EnforcedRebalance) -> None:
        client_says(asked.client, "asked", member=asked.member, group=asked.group, reason=asked.reason)

    return keep


def tell(asked: EnforcedRebalance) -> None:
    """Log it and call every hook."""
    log.info("%s joins group %s again: %s", asked.member, asked.group, asked.reason or "no reason given")
    for hook in list(hooks):
        try:
            hook(asked)
        except Exception:
            log.exception("a hook for the reason of a rebalance failed")
