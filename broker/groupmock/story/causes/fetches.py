"""Causes that are about reading: records that are skipped, held back by a transaction, or never asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupmock_codec.units import NS_PER_S

from ...rounds import Partition
from ..people import Person
from ..reading import Skip
from ..words import count, listed, partitions_text, seconds, text
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
    """A read_committed reader waits at the last stable offset of a partition that it owns, and a transaction is still open there."""
    for each in case.tale.reading.waiting:
        owners = [person for person in case.here if person.name == each.who]
        owned = any(each.partition in case.tale.fold.ownership.of(person.member_id) for person in owners)
        behind = case.tale.reading.open_on(each.partition)
        if owned and behind and case.now - each.since >= SOON:
            place = (
                f"{each.who} (read_committed) waits at {partitions_text([each.partition])} = {each.position} since {seconds(each.since)}"
            )
            yield Likely(f"{place} behind an open transaction: {text(listed(behind), 100)}")


def never_fetched(case: Case) -> Iterator[Likely]:
    """A member has partitions for some time and has never fetched them, although it fetched others, or its lookup of their first offsets
    was refused."""
    for person in case.here:
        mine = [
            partition
            for partition in case.tale.fold.ownership.of(person.member_id)
            if not any(each.member == person.member_id for each in case.evidence.readings.get(partition, ()))
        ]
        for since, partitions in sorted(_by_time(case, person, mine).items()):
            what = f"{person.name} has {partitions_text(partitions)} since {seconds(since)} and has never fetched"
            refused = [each for each in case.refusals(*OF_POSITIONS) if each.client_id == person.client_id and each.at >= since]
            made = [each for each in case.evidence.refusals.values() if each.made and each.api in OF_POSITIONS and each.at >= since]
            for each in (refused + made)[:1]:
                yield Likely(f"{what} it: its {each.api} was refused {at(each.at)} ({each.error}), so it knows no offset to begin at")
            fetches = min(
                case.evidence.fetches.get(person.client_id, 0) - case.evidence.assigned[person.member_id, each][1] for each in partitions
            )
            if fetches >= FETCHES and not refused + made:
                yield Likely(f"{what} it, but {count(fetches, 'time')} other partitions: paused, no start offset, or no way to its leader")


def _by_time(case: Case, person: Person, partitions: list[Partition]) -> dict[int, list[Partition]]:
    """Group partitions by the time when the member got them, if that is long ago."""
    found: dict[int, list[Partition]] = {}
    for each in partitions:
        since, _ = case.evidence.assigned.get((person.member_id, each), (case.now, 0))
        if case.now - since >= NEVER_NS:
            found.setdefault(since, []).append(each)
    return found
