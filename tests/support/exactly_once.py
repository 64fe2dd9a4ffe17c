"""Defines "exactly once" for the result of a consume-transform-produce run; each sentence names one kind of violation. `read_committed`
reads like a consumer (KIP-98), `amounts` checks the records that it read, and `together` checks that offsets and records of a
transaction appear together. The random producers of `transaction_machine` and the histories of stock clients are judged by these
functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from groupmock.rig.read_committed import committed_records


def read_committed(records: bytes, aborted_transactions: Iterable[Any]) -> Iterator[bytes]:
    """Yield the values that a read_committed consumer delivers from a fetch: without those of aborted transactions."""
    return (record.value or b"" for record in committed_records(records, aborted_transactions))


def amounts(seen: Iterable[bytes], committed: Iterable[bytes], everything: bool = True) -> list[str]:
    """Return violations unless a reader sees each committed record once and no other record. With `everything` no record may be missing."""
    found, wanted = Counter(seen), Counter(committed)
    wrong = [f"{value.decode()} was read and never committed" for value in found if value not in wanted]
    wrong += [
        f"{value.decode()} was read {count} times, not {wanted[value]}" for value, count in found.items() if 0 < wanted[value] < count
    ]
    if everything:
        wrong += [f"{value.decode()} was read {found[value]} times, not {count}" for value, count in wanted.items() if found[value] < count]
    return wrong


def together(sources: Mapping[int, list[bytes]], offsets: Mapping[int, int], seen: Iterable[bytes]) -> list[str]:
    """Return violations unless the output contains, per source partition, exactly the values below its committed offset. `sources` maps
    a partition to its values in the order of their offsets; `offsets` maps a partition to its committed offset, if it has one."""
    found = set(seen)
    wrong = []
    for partition, values in sources.items():
        end = offsets.get(partition, 0)
        wrong += [f"offset {end} of partition {partition} is committed, and {each.decode()} below it is not there"
                  for each in values[:end] if each not in found]  # fmt: skip
        wrong += [f"{each.decode()} is there, and offset {end} of partition {partition} says that it was not read"
                  for each in values[end:] if each in found]  # fmt: skip
    return wrong
