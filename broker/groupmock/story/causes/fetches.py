"""Causes that are about reading: records that are skipped, held back by a transaction, or never asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupmock_codec.units import NS_PER_S

from ..evidence import Unread
from ..people import Person
from ..reading import Skip
from ..words import count, partitions_text, seconds, text
from .case import SOON, Case, Likely, at

OF_POSITIONS: Final = ("OffsetFetch", "ListOffsets")
"""The requests by which a consumer finds out where to begin."""
FETCHES: Final = 3
"""The least number of Fetch requests without a partition that show that the partition is not read."""
NEVER_NS: Final = 2 * NS_PER_S
"""A partition counts as never fetched if its owner has it for at least this time (ns)."""


def begins_at_the_end(case: Case) -> Iterator[Likely]:
    """A member found no committed offset, asked where the log ends, and its first Fetch is there, behind records."""
    by_member: dict[str, list[Skip]] = {}
    for each in case.tale.reading.skipped:
        by_member.setdefault(each.who, []).append(each)
    for who, skips in by_member.items():
        known = [each.records for each in skips if each.records is not None]
        many = f"up to {count(sum(known), 'record')}" if len(known) == len(skips) else "records"
        where = partitions_text(each.partition for each in skips)
        told = f"{who} began at the end of {where} {at(skips[0].at)} and skipped {many}"
        yield Likely(f"{told}: nothing was committed and auto.offset.reset is latest")


def open_transaction(case: Case) -> Iterator[Likely]:
    """A read_committed reader waited at the last stable offset of a partition for a while, behind an open transaction, until it lost the
    partition or until now."""
    now = [(each, case.now) for each in case.tale.reading.waiting if case.tale.reading.open_on(each.partition)]
    for each, end in [*case.evidence.waited, *now]:
        mine = [reading for reading in case.evidence.readings.get(each.partition, ()) if reading.name == each.who]
        until = min(end, mine[-1].until if mine and mine[-1].until is not None else end)
        if each.of and until - each.since >= SOON:
            where = f"{partitions_text([each.partition])} = {each.position} since {seconds(each.since)}"
            yield Likely(f"{each.who} (read_committed) waits at {where} behind an open transaction: {text(each.of, 100)}")


def never_fetched(case: Case) -> Iterator[Likely]:
    """A member had partitions for some time, and until it left or until now it has never fetched them, although it fetched others, or its
    lookup of their first offsets was refused."""
    for person, removed in case.everybody:
        for since, unread in sorted(_by_time(case, person, removed).items()):
            what = f"{person.name} has {partitions_text(each.partition for each in unread)} since {seconds(since)} and has never fetched"
            lookups = [each for each in case.evidence.refusals.values() if each.api in OF_POSITIONS and each.at >= since]
            refused = next((each for each in lookups if each.client_id == person.client_id), None)
            fetches = min(each.fetches for each in unread)
            if refused is not None:
                why = f"its {refused.api} was refused {at(refused.at)} ({refused.error}), so it knows no offset to begin at"
                yield Likely(f"{what} it: {why}")
            elif fetches >= FETCHES:
                yield Likely(f"{what} it, but {count(fetches, 'time')} other partitions: paused, no start offset, or no way to its leader")


def _by_time(case: Case, person: Person, removed: int | None) -> dict[int, list[Unread]]:
    """Return the partitions that a member never fetched by the time when it got them, if it had them for long."""
    found: dict[int, list[Unread]] = {}
    for each in case.evidence.unread_of(person, removed, case.now):
        if each.until - each.since >= NEVER_NS:
            found.setdefault(each.since, []).append(each)
    return found
