"""Filters the records of a Fetch as a consumer with isolation level read_committed (1) does (KIP-98)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from groupmock_codec.markers import marker_of
from groupmock_codec.records import Batch, decode_records, read_batches

if TYPE_CHECKING:
    from groupmock_codec.messages.k01_fetch import AbortedTransaction
    from groupmock_codec.records import Record


def committed_batches(records: bytes, aborted_transactions: Iterable[AbortedTransaction]) -> Iterator[Batch]:
    """Yield the batches of a partition that a consumer passes on: batches of aborted transactions are left out."""
    waiting = sorted((each.first_offset, each.producer_id) for each in aborted_transactions)
    aborted: set[int] = set()
    for each in read_batches(records):
        while waiting and waiting[0][0] <= each.base_offset:
            aborted.add(waiting.pop(0)[1])
        if each.control:
            if marker_of(each) is False:
                aborted.discard(each.producer_id)
        elif not (each.transactional and each.producer_id in aborted):
            yield each


def committed_records(records: bytes, aborted_transactions: Iterable[AbortedTransaction]) -> Iterator[Record]:
    """Yield the records of the batches that a read_committed consumer passes on."""
    return (record for each in committed_batches(records, aborted_transactions) for record in decode_records(each))
