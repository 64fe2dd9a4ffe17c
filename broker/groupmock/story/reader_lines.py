"""Make the lines about what readers ask and are answered outside of their group: offsets, records, ends of logs, and topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..journal.rows import ReplyRow
from ..journal.whose import field
from .asked import Asked
from .exchanged import ANSWERED, ASKED, EARLIEST, LATEST, errors_of, items, named, offsets_said, said
from .folding import Line, Offsets
from .words import partitions_text, text

if TYPE_CHECKING:
    from .tale import Tale

UNKNOWN_TOPIC: Final = "UNKNOWN_TOPIC_OR_PARTITION"


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
