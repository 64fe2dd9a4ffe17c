"""Make the lines about offsets and readers: commits of members, offsets in transactions, offsets that were deleted or expired, and what
readers ask and are answered outside of their group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..journal.rows import NoteRow, ReplyRow
from ..journal.whose import field
from ..rounds import Partition
from .asked import Asked
from .exchanged import ANSWERED, ASKED, EARLIEST, LATEST, errors_of, items, named, offsets_said, said
from .folding import Commits, Line, Offsets
from .words import MOST, SENTENCE, listed, offsets_text, partitions_text, text

if TYPE_CHECKING:
    from .tale import Tale

TRANSACTIONS: Final = "transactions"
UNKNOWN_TOPIC: Final = "UNKNOWN_TOPIC_OR_PARTITION"


def committed(tale: Tale, row: ReplyRow, asked: Asked) -> Iterator[Line]:
    """Describe the result of an OffsetCommit or TxnOffsetCommit for each partition."""
    wanted = {each.partition: each.value for each in said(asked.message, ASKED[asked.api], tale.names)}
    tale.evidence.tried = True
    taken: dict[Partition, int] = {}
    refused: dict[str, dict[Partition, int]] = {}
    for each in said(row.message, ANSWERED[asked.api], tale.names):
        if each.partition in wanted:
            (taken if each.error is None else refused.setdefault(each.error, {}))[each.partition] = wanted[each.partition]
    if not taken and not refused:
        yield from tale.refused_whole(row, asked)
    # Old releases keep offsets of version 0 in ZooKeeper. If a rule refuses a commit after it was handled, no row says whether it counts.
    if asked.version == 0 or (asked.made in refused and asked.applied):
        tale.committed.known = False
    for error, offsets in refused.items():
        yield tale.refused(row, asked, f"commit of {offsets_text(offsets)}", error)
    if taken:
        yield from _in_transaction(tale, asked, taken) if asked.api == "TxnOffsetCommit" else _stored(tale, asked, taken)


def _in_transaction(tale: Tale, asked: Asked, taken: dict[Partition, int]) -> Iterator[Line]:
    producer = field(asked.message, "producer_id")
    tale.committed.wait(producer if isinstance(producer, int) else -1, taken, asked.order)
    told = f"{tale.who(asked)} puts {offsets_text(taken)} into its transaction"
    yield Line(asked.at, told, tale.ids(asked))


def transaction_ended(tale: Tale, row: NoteRow) -> Iterator[Line]:
    """Describe the end of a transaction that commits offsets of the group."""
    won = tale.committed.end(row)
    tale.tally.commits(TRANSACTIONS, won) if won else None
    told = text(row.fields["reason"], SENTENCE)
    if won:
        yield Line(row.t, f"{told}: {offsets_text(won)} {'is' if len(won) == 1 else 'are'} the group's now")
    else:
        yield Line(row.t, f"{told} ({row.fields['offsets']} of the group's offsets are new)")


def offset_gone(tale: Tale, row: NoteRow) -> Iterator[Line]:
    """Describe an offset that expired or belonged to a deleted topic."""
    gone = [(str(row.fields["topic"]), int(row.fields["partition"]))]
    tale.committed.forget(gone)
    why_gone = f": {text(row.fields['reason'])}" if "reason" in row.fields else ", it is too old (offsets.retention.minutes)"
    yield Line(row.t, f"the committed offset of {partitions_text(gone)} is gone{why_gone}", (), ("offset gone", *gone[0], why_gone))


def _stored(tale: Tale, asked: Asked, taken: dict[Partition, int]) -> Iterator[Line]:
    who, ids, at = tale.who(asked), tale.ids(asked), asked.at
    tale.tally.commits(who, taken)
    back = {each: offset for each, offset in taken.items() if offset < asked.committed.get(each, offset)}
    theirs = {each: asked.owners[each] for each in taken if each in asked.owners and ids and asked.owners[each] not in ids}
    for each in list(back)[:MOST]:
        tale.tally.odd.more("commits that go BACK")
        yield Line(at, f"{who} commits {offsets_text({each: back[each]})}: BACK from {asked.committed[each]}", ids)
    if theirs:
        owners = listed(sorted({tale.people.name(owner) for owner in theirs.values()}))
        tale.tally.odd.more("commits of partitions that are another member's")
        mine = {each: taken[each] for each in theirs}
        text_of = f"{who} commits {offsets_text(mine)}, NOT ITS OWN: generation {asked.generation} gave it to {owners}"
        tale.evidence.commits_foreign(at, who, mine, asked.generation, next(iter(theirs.values())))
        yield Line(at, text_of, ids, ("not its own", who, owners, asked.generation))
    plain = {each: offset for each, offset in taken.items() if each not in back and each not in theirs}
    if plain:
        yield Commits(at, who, plain, ids)
    tale.committed.store(taken, asked.order)
    tale.evidence.committed(at, who, next(iter(ids), ""), taken)


def deleted(tale: Tale, row: ReplyRow, asked: Asked) -> Iterator[Line]:
    """Describe the result of an OffsetDelete for each partition."""
    gone = [each.partition for each in said(row.message, ANSWERED["OffsetDelete"], tale.names) if each.error is None]
    tale.committed.forget(gone)
    if gone:
        yield Line(asked.at, f"{tale.who(asked)} deletes the committed offsets of {partitions_text(gone)}", tale.ids(asked))
    yield from tale.refused_whole(row, asked)


def offsets_fetched(tale: Tale, row: ReplyRow, asked: Asked) -> Iterator[Line]:
    """Describe an answer to OffsetFetch, which says where a reader begins."""
    found, none, refused = {}, [], dict.fromkeys(errors_of(row))
    for each in offsets_said(row.message, tale.fold.name, tale.names):
        if each.error is not None:
            refused[each.error] = None
        elif each.value >= 0:
            found[each.partition] = each.value
        else:
            none.append(each.partition)
    tale.reading.found_committed(asked.client_id, found, none)
    tale.committed.found(found, asked.order)
    if found or none:
        yield Offsets(asked.at, tale.who(asked), "finds committed:", found, none, tale.ids(asked))
    for error in refused:
        yield tale.refused(row, asked, "fetch of committed offsets", error)


def fetched(tale: Tale, row: ReplyRow, asked: Asked) -> Iterator[Line]:
    """Describe the errors of an answer to Fetch, and what keeps the reader from records."""
    wanted = {each.partition: each.value for each in said(asked.message, ASKED["Fetch"], tale.names)}
    for each in said(row.message, ANSWERED["Fetch"], tale.names):
        if each.error is not None:
            at = f" from {wanted[each.partition]}" if each.partition in wanted else ""
            log = f", the log has {each.more} to {each.value}" if each.more >= 0 and each.value >= 0 else ""
            yield tale.refused(row, asked, f"fetch of {partitions_text([each.partition])}{at}{log}", each.error)
    if (error := named(field(row.message, "error_code"))) is not None:
        yield tale.refused(row, asked, "Fetch", error)
    tale.evidence.sent(row, asked.client_id)
    yield from tale.reading.fetched(row, asked.message, asked.client_id, tale.who(asked), tale.ids(asked))


def looked_up(tale: Tale, row: ReplyRow, asked: Asked) -> Iterator[Line]:
    """Describe a ListOffsets, with which a consumer begins that has no committed offset (auto.offset.reset)."""
    wanted = {each.partition: each.value for each in said(asked.message, ASKED["ListOffsets"], tale.names)}
    for stamp, what in ((EARLIEST, "asks where the log begins (auto.offset.reset earliest):"), (LATEST, "asks where the log ends:")):
        answers = said(row.message, ANSWERED["ListOffsets"], tale.names)
        found = {each.partition: each.value for each in answers if wanted.get(each.partition) == stamp and each.error is None}
        if stamp == LATEST:
            tale.reading.looked_up_end(asked.client_id, found)
        if found:
            yield Offsets(asked.at, tale.who(asked), what, found, (), tale.ids(asked))
    yield from tale.refused_whole(row, asked)


def topics(tale: Tale, row: ReplyRow, asked: Asked) -> Iterator[Line]:
    """Describe the errors of a Metadata answer, which are per topic."""
    for topic in items(row.message, "topics"):
        name = str(field(topic, "name"))
        if (error := named(field(topic, "error_code"))) is None:
            tale.evidence.unknown.pop(name, None)
        else:
            if error == UNKNOWN_TOPIC and error != asked.made:
                tale.evidence.unknown_topic(name, asked.told_at(row), tale.who(asked))
            yield tale.refused(row, asked, f"question for topic {text(field(topic, 'name'))}", error)
