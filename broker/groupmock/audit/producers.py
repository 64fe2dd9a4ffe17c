"""The audit follows each transactional producer from the answer that gave it its producer id: what it has put into its transaction, which
offsets were refused, and how its last transaction ended.

A producer is known by host, transactional id, producer id and epoch. So a producer that was fenced and the one that fenced it are two, even
in one process. A producer whose InitProducerId the journal does not have is unknown, and rules say nothing about it. EndTxn 5 gives the
same producer another epoch (KIP-890). A producer is forgotten with the last connection that it used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from groupmock_codec.api_keys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)

from .reading import UNKNOWN
from .subjects import Identity, Producer

if TYPE_CHECKING:
    from .subjects import Exchange, Link

IN_TRANSACTIONS: Final = frozenset((ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, TXN_OFFSET_COMMIT, PRODUCE, END_TXN))
"""The requests that name a transactional producer."""
BATCHED: Final = 4
"""From this version on AddPartitionsToTxn lists transactions; only brokers send it."""
NEW_EPOCHS: Final = 5
"""From this version on the answer to EndTxn has the producer id and epoch of the next transaction (KIP-890)."""


class Producers:
    """The transactional producers whose beginning is in the journal."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Identity], Producer] = {}
        self._by_link: dict[Link, set[Producer]] = defaultdict(set)

    def clear(self) -> None:
        self._known.clear()
        self._by_link.clear()

    def of(self, x: Exchange) -> Producer | None:
        """Return the producer that a request names, if known. A Produce without its records names no producer id, so the producer is known
        if only one on this host has the transactional id."""
        identities = identities_of(x)
        if len(identities) != 1:
            return None
        (named,) = identities
        found = self._known.get((x.link.host, named))
        if found is None and named[1] == UNKNOWN:
            same = [each for (host, (name, _, _)), each in self._known.items() if (host, name) == (x.link.host, named[0])]
            return same[0] if len(same) == 1 else None
        return found

    def on(self, link: Link) -> Iterable[Producer]:
        """Return the producers that used this connection."""
        return self._by_link.get(link, ())

    def of_client(self, client: tuple[str, str | None]) -> Iterable[Producer]:
        """Return the producers that used a connection with this host and client id."""
        return {each for link, producers in self._by_link.items() if link.client == client for each in producers}

    def says(self, x: Exchange) -> None:
        """Note a request of a producer."""
        if x.producer is not None:
            self._uses(x.producer, x.link)
            x.producer.says(x)

    def hears(self, x: Exchange) -> None:
        """Note an answer to a producer, or that there will be none."""
        producer, answer = x.producer, x.answer
        if x.key == INIT_PRODUCER_ID:
            if answer is not None and x.delivered and not x.error and x.asked.get("transactional_id"):
                self._begins(x, (str(x.asked["transactional_id"]), int(answer["producer_id"]), int(answer["producer_epoch"])))
        elif producer is not None:
            aborts = x.key == END_TXN and not x.asked["committed"]
            producer.troubled = producer.troubled or aborts or not x.delivered or bool(refusals_of(x))
            if x.key == END_TXN and answer is not None and x.delivered and not x.error:
                producer.ended = x
                if x.version >= NEW_EPOCHS:
                    self._renamed(producer, x.link.host, (producer.identity[0], int(answer["producer_id"]), int(answer["producer_epoch"])))

    def contradiction(self, x: Exchange) -> str | None:
        """Return what is wrong with an answer that gives a producer its producer id, or None if it fits. The coordinator of a transactional
        id never goes back to an earlier epoch of the same producer id."""
        answer = x.answer
        if x.key != INIT_PRODUCER_ID or answer is None or not x.delivered or x.error or not x.asked.get("transactional_id"):
            return None
        meant, epoch = (str(x.asked["transactional_id"]), int(answer["producer_id"])), int(answer["producer_epoch"])
        known = [each.identity[2] for each in self._known.values() if each.identity[:2] == meant and each.begun.answer_seq < x.seq]
        told = max(known, default=-1)
        return None if told <= epoch else f"its producer epoch is {epoch}, but epoch {told} of this producer had been told"

    def forget(self, link: Link) -> None:
        """Forget the producers that used no other connection than this one, which has ended."""
        for producer in self._by_link.pop(link, ()):
            producer.links.discard(link)
            if not producer.links:
                producer.go()
                self._known.pop((link.host, producer.identity), None)

    def _begins(self, x: Exchange, identity: Identity) -> None:
        place = x.link.host, identity
        producer = x.producer = self._known[place] = Producer(identity, x)
        producer.doubted = x.link.doubted
        self._uses(producer, x.link)

    def _renamed(self, producer: Producer, host: str, identity: Identity) -> None:
        self._known.pop((host, producer.identity), None)
        producer.identity = identity
        self._known[host, identity] = producer

    def _uses(self, producer: Producer, link: Link) -> None:
        producer.links.add(link)
        self._by_link[link].add(producer)


def identities_of(x: Exchange) -> list[Identity]:
    """Return the producers that a request of a transaction names: one, or several in an AddPartitionsToTxn of a broker. AddPartitionsToTxn
    of clients has field names of its own."""
    if x.key not in IN_TRANSACTIONS or not x.asked:
        return []
    parts, before = [x.asked], ""
    if x.key == ADD_PARTITIONS_TO_TXN and x.version < BATCHED:
        before = "v3_and_below_"
    elif x.key == ADD_PARTITIONS_TO_TXN:
        parts = x.asked["transactions"]
    return [
        (str(each[f"{before}transactional_id"]), int(each[f"{before}producer_id"]), int(each[f"{before}producer_epoch"])) for each in parts
    ]


def refusals_of(x: Exchange) -> frozenset[int]:
    """Return the error codes of an answer. In AddPartitionsToTxn those of partitions have a field name of their own."""
    if x.answer is None or x.key != ADD_PARTITIONS_TO_TXN:
        return x.errors
    topics = list(x.answer.get("results_by_topic_v3_and_below") or ())
    for each in x.answer.get("results_by_transaction") or ():
        topics += each["topic_results"]
    return x.errors | {int(each["partition_error_code"]) for topic in topics for each in topic["results_by_partition"]} - {0}
