"""Causes that are about committed offsets: commits that come too late, too low or never, and work that was not committed when its partition
was handed over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from groupmock_codec.units import NS_PER_S

from ...rounds import Partition
from ..evidence import Reading, Refusal
from ..words import offsets_text, partitions_text, seconds
from .case import Case, Likely, at

TOO_LATE: Final = (
    "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH", "FENCED_MEMBER_EPOCH", "REBALANCE_IN_PROGRESS", "FENCED_INSTANCE_ID",
)  # fmt: skip
LONG: Final = 10 * NS_PER_S
"""A client that commits automatically does so every 5 s by default, so twice that without a commit means that it does not (ns)."""
LEFT: Final = "member_left"
FETCHES_AHEAD: Final = frozenset(("librdkafka", "confluent-kafka-python", "sarama"))
"""Client libraries that fetch records before the application has taken the earlier ones, so that a Fetch does not show what was taken."""


def commit_after_revoke(case: Case) -> Iterator[Likely]:
    """A commit was refused because its sender is no longer the owner or no longer a member; or a member committed a partition that is
    another member's."""
    for refused in case.refusals("OffsetCommit", "TxnOffsetCommit", errors=TOO_LATE):
        if refused.member in case.explained:
            continue
        told = _refused(case, refused)
        if told is not None:
            said = f"{refused.who} committed {offsets_text(refused.offsets)} {at(refused.at)}{told[0]} ({refused.error}){told[1]}"
            yield Likely(said, frozenset((refused.member,)))
    for foreign in case.evidence.foreign:
        what, owner = offsets_text(foreign.offsets), case.name(foreign.owner)
        yield Likely(f"{foreign.who} committed {what} {at(foreign.at)}, but generation {foreign.generation} had given it to {owner}")


def _refused(case: Case, refused: Refusal) -> tuple[str, str] | None:
    """Return why a commit was refused, and a remedy, or None if the refusal did no harm."""
    theirs = {each: owner for each in refused.offsets if (owner := _owner(case, refused, each)) not in (None, refused.member)}
    gone = case.tale.people.gone.get(refused.member)
    if theirs:
        owners = ", ".join(sorted({case.name(str(owner)) for owner in theirs.values()}))
        named = f" with generation {refused.generation}" if refused.generation is not None and refused.generation >= 0 else ""
        return f"{named}, but {partitions_text(theirs)} was {owners}'s then", ": commit before the revoke"
    if gone is not None and gone[0] <= refused.at:
        return f", but it was no member since {seconds(gone[0])}: {gone[1]}", ""
    if refused.api != "OffsetCommit":
        return None  # The producer aborts its transaction and sends the offsets again with the next one.
    missing = [each for each, offset in refused.offsets.items() if not _committed_later(case, refused, each, offset)]
    return (" in vain", f"{refused.why}, and nobody has committed it since") if missing else None


def _owner(case: Case, refused: Refusal, partition: Partition) -> str | None:
    """Return the member that had a partition when a commit of it was refused."""
    if partition in refused.owners:
        return refused.owners[partition]
    later = [
        each for each in case.evidence.readings.get(partition, ()) if each.at <= refused.at and (each.until or refused.at) >= refused.at
    ]
    return later[-1].member if later else None


def _committed_later(case: Case, refused: Refusal, partition: Partition, offset: int) -> bool:
    commit = case.evidence.commits.get(partition)
    return commit is not None and (commit.offset >= offset or commit.at > refused.at)


def uncommitted_work_handed_over(case: Case) -> Iterator[Likely]:
    """A member lost a partition after it had taken records that were not committed, and the next owner began before them."""
    if not case.evidence.tried:
        return
    for partition, kept in case.evidence.readings.items():
        for first, second in pairwise(kept):
            upto = _taken(case, partition, first)
            if first.member in case.explained or not _handed_over(case, first, second) or second.offset >= upto:
                continue
            records = f"{second.offset} to {upto - 1}" if upto - 1 > second.offset else str(second.offset)
            where = f"{partitions_text([partition])} went to {second.name} {at(second.at)}"
            yield Likely(
                f"{where} while {first.name} worked on offset {records}, not committed: {second.name} read from {second.offset} again"
            )


def _handed_over(case: Case, first: Reading, second: Reading) -> bool:
    """Return whether the first reader was still there when the second began, neither gone by its own will nor without a connection."""
    gone = case.evidence.gone.get(first.member)
    there = case.tale.people.here.get(first.member)
    ended = gone.closed if gone is not None else there.closed if there is not None else 0
    left = gone is not None and gone.cause == LEFT and gone.at <= second.at
    return first.member != second.member and first.until is not None and not left and (ended is None or ended > second.at)


def _taken(case: Case, partition: Partition, reading: Reading) -> int:
    """Return the offset up to which a reader has certainly taken records."""
    late = [
        each.offsets[partition] for each in case.evidence.refusals.values() if each.member == reading.member and partition in each.offsets
    ]
    ahead = case.libraries.get(reading.client_id) in FETCHES_AHEAD
    return max([reading.offset if ahead else reading.highest, *late])


def nobody_commits(case: Case) -> Iterator[Likely]:
    """Nobody has tried to commit in the whole run, although members were sent records: another member begins at the same offsets, or the
    reader has left, or it reads for longer than any usual interval of automatic commits."""
    committed = case.tale.committed
    if case.evidence.tried or not case.whole or committed.offsets or not committed.known:
        return
    again: dict[tuple[str, str], list[tuple[Partition, Reading, Reading]]] = {}
    for partition, kept in case.evidence.readings.items():
        for first, second in pairwise(kept):
            if first.sent is not None and first.member != second.member and second.offset <= first.offset:
                again.setdefault((first.name, second.name), []).append((partition, first, second))
    for (one, other), found in again.items():
        places = partitions_text(partition for partition, *_ in found)
        sent, begins = min(first.sent or 0 for _, first, _ in found), min(second.at for *_, second in found)
        yield Likely(f"nobody commits: {one} was sent records of {places} {at(sent)}, and {other} began at the same offsets {at(begins)}")
    for gone in case.evidence.gone.values():
        read = dict(case.readings(gone.person.member_id))
        if read and gone.cause == LEFT:
            places, sent = partitions_text(read), min(each.sent or 0 for each in read.values())
            yield Likely(f"nobody commits: {gone.person.name} was sent records of {places} {at(sent)} and left {at(gone.at)}")
    for person in case.here:
        read = dict(case.readings(person.member_id))
        sent = min((each.sent or 0 for each in read.values()), default=case.now)
        if case.now - sent >= LONG:
            yield Likely(
                f"nobody commits: {person.name} was sent records of {partitions_text(read)} {at(sent)}, and none has been committed"
            )


def commits_in_wrong_order(case: Case) -> Iterator[Likely]:
    """A member committed a lower offset of a partition than the last one without having gone back to read it again."""
    for (topic, number), (_, high, low) in case.evidence.set_back.items():
        who = f"{low.who} committed {partitions_text([(topic, number)])} = {low.offset} {at(low.at)}"
        by = "" if high.who == low.who else f"{high.who}'s "
        yield Likely(f"{who} after {by}{high.offset} {at(high.at)}, and the last commit counts: commit the lowest unfinished offset only")
