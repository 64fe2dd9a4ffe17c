"""Producer ids are unique in a cluster, whichever node assigns them (KIP-730).

A node takes a block of 1000 from the controller and assigns its ids one by one; the rest of a block is lost when the node stops. In Kafka:
ProducerIdManager, ProducerIdsBlock. Seen on three nodes of 4.3.0: 0, 1000, 2000, then 1, 1001, 2001 (docs/kafka/transactions.md, TX-09).
"""

from __future__ import annotations

from typing import Final

BLOCK: Final = 1_000


class ProducerIds:
    def __init__(self) -> None:
        self._next: dict[int, int] = {}  # Maps each node to the next producer id of its block.
        self._blocks = 0
        self._told: dict[int, int] = {}

    def of(self, node: int) -> int:
        """Return a new producer id, assigned by the node."""
        given = self._told.pop(node, None)
        fresh = self._next.get(node, 0) if given is None else given
        if given is None and not fresh % BLOCK:  # The node has no block of producer ids yet, or has used it up.
            fresh, self._blocks = self._blocks * BLOCK, self._blocks + 1
        self._next[node] = fresh + 1
        return fresh

    def tell(self, node: int, producer_id: int) -> None:
        """Set the next producer id of a node, because a replay must assign the ids that the recorded cluster assigned."""
        self._told[node] = producer_id

    def stopped(self, node: int) -> None:
        """Forget the stopped node's block of producer ids."""
        self._next.pop(node, None)
