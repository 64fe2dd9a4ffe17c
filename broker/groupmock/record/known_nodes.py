"""Which node of the cluster answers at which address of a capture: told by the cluster's own answers, else unknown.

Answers say node id, host and port (Metadata, FindCoordinator, DescribeCluster, ...); a capture has addresses. A host that is the address
itself is that node. Where hosts are names, a port tells the node if the answers that list the whole cluster have one node with it: the
brokers of one machine. Nothing else is guessed: a broker behind a name on the port of all others stays without a number.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from .addresses import rewrite, tells_addresses

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .segments import Endpoint

METADATA: Final = 3
DESCRIBE_CLUSTER: Final = 60
LISTS: Final = (METADATA, DESCRIBE_CLUSTER)
"""Answers that name every broker that is alive."""
MOST: Final = 10_000
"""Addresses that are remembered; more are neither told nor numbered."""


class KnownNodes:
    """`seen`: addresses at which a broker was met -> its number, None while nobody told it."""

    def __init__(self) -> None:
        self.seen: dict[Endpoint, int | None] = {}
        self._told: dict[tuple[str, int], int] = {}
        self._by_port: dict[int, set[int]] = {}

    def meet(self, end: Endpoint) -> bool:
        """A broker is there. Is that new?"""
        if end in self.seen or len(self.seen) >= MOST:
            return False
        self.seen[end] = self._number(end)
        return True

    def learn(self, key: int, version: int, message: Message) -> list[Endpoint]:
        """What an answer says; the addresses whose number is known now, or another one."""
        told: list[tuple[int, str, int]] = []

        def take(node: int, host: str, port: int) -> tuple[str, int]:
            told.append((node, host, port))
            return host, port

        rewrite(key, version, message, take)
        if key in LISTS:
            self._by_port = {}
        for node, host, port in told[:MOST]:
            if len(self._told) < MOST or (host, port) in self._told:
                self._told[host, port] = node
            if key in LISTS:
                self._by_port.setdefault(port, set()).add(node)
        return self._renumbered() if told else []

    @staticmethod
    def tells(key: int, version: int) -> bool:
        """May an answer say it?"""
        return tells_addresses(key, version)

    def _renumbered(self) -> list[Endpoint]:
        changed = []
        for end, before in self.seen.items():
            now = self._number(end)
            if now is not None and now != before:
                self.seen[end] = now
                changed.append(end)
        return changed

    def _number(self, end: Endpoint) -> int | None:
        known = self._told.get((str(ip_address(end[0])), end[1]))
        if known is not None:
            return known
        nodes = self._by_port.get(end[1], ())
        return next(iter(nodes)) if len(nodes) == 1 else None
