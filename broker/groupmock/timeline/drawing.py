"""Draw pictures of journals, for the command line, for `groupmock run --timeline` and for the test fixture."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from groupmock_codec import APIS

from ..journal.place import make_folder
from ..journal.read import JournalReader, UnknownRow
from ..journal.rows import FindingRow, Header, Row
from ..journal.source import opened
from ..story.not_let_in import CHANGES_RIGHTS
from ..story.words import listed, text
from ..version import __version__
from .builder import TimelineBuilder
from .comparing import compared
from .forms import FORMS
from .interned import Tables
from .model import APIS as DRAWN
from .model import Group, Source, Timeline
from .transaction_track import READ as OF_TRANSACTIONS

ENDINGS: Final = {".html": "html", ".htm": "html", ".svg": "svg", ".perfetto.json": "perfetto", ".json": "perfetto"}
"""Maps the endings of file names to forms of pictures."""


READ: Final = frozenset(APIS[name].key for name in (*DRAWN, "ApiVersions", "SaslHandshake", "SaslAuthenticate", *CHANGES_RIGHTS))
"""The APIs whose requests and answers are decoded: not Fetch, which is the most frequent one in most journals. ApiVersions names the
client library (KIP-511)."""


class Nothing(LookupError):
    """Raised if the named group is in none of the journals; the text says which groups exist."""


class UnknownForm(ValueError):
    """Raised if a file name has no known ending; the text lists the known ones."""


def form_of(file: str) -> str:
    """Return the form that a file name's ending means. Raises UnknownForm."""
    for ending, form in ENDINGS.items():
        if file.lower().endswith(ending):
            return form
    raise UnknownForm(f"{file}: its name says no form: end it in .html, .svg or .perfetto.json, or give --format")


class Drawing:
    """Draws several journals, one after another, in one picture. `group` restricts the picture to one group; with `audit` the clients
    are judged meanwhile."""

    def __init__(self, group: str | None = None, audit: bool = False) -> None:
        self._group, self._audit = group, audit
        self._tables = Tables()
        self._sources: list[Source] = []
        self._groups: list[Group] = []
        self._others: set[str] = set()

    def add(
        self,
        name: str,
        rows: Iterable[Row | UnknownRow],
        header: Header | None = None,
        begin: int = 0,
        end: int | None = None,
        now: int = 0,
    ) -> Source:
        """Add a journal and read it to its end. `begin`, `end` bound the part that is drawn, in ns of its run, which goes on until `now`
        if that is after its last row. `notices` may be added to the result."""
        # Only the journal's file name is shown, because its folder on this machine does not matter to readers.
        builder = TimelineBuilder(os.path.basename(name), header, self._tables, self._group, begin, end, findings=not self._audit)
        if self._audit:
            _judged(builder, rows)
        else:
            if isinstance(rows, JournalReader):
                rows.only = READ
            for row in rows:
                builder.feed(row)
                if builder.transactions.found and isinstance(rows, JournalReader) and rows.only is READ:
                    rows.only = READ | OF_TRANSACTIONS
        builder.until(now)
        source, groups = builder.finish(len(self._sources), [])
        self._others |= builder.others
        self._sources.append(source)
        self._groups += [each for each in groups if each.states or each.lanes or each.events]
        return source

    @property
    def journals(self) -> int:
        """Return how many journals were added."""
        return len(self._sources)

    def timeline(self, compare: bool = False) -> Timeline:
        """Return the picture of all journals, with the differences of two if they are to be compared. Raises Nothing if a named group is in
        none of them, and Incomparable."""
        if self._group is not None and not self._groups:
            there = f"there are {listed(sorted(self._others))}" if self._others else "there is none at all"
            raise Nothing(f"no group {text(self._group)!r} in these rows: {there}")
        groups, topics, sets = self._tables.settled(self._groups)
        drawn = Timeline(__version__, self._sources, groups, topics, sets, list(self._tables.texts))
        drawn.comparisons = compared(drawn) if compare else []
        return drawn


def of_journal(journal: str, group: str | None = None, now: int = 0) -> Timeline:
    """Return the picture of one journal file, which may still be written by a run that has come to `now`. Raises OSError, NotAJournal,
    Nothing."""
    drawing = Drawing(group)
    with opened(journal) as file:
        reader = JournalReader(file)
        drawing.add(journal, reader, reader.header, now=now)
    return drawing.timeline()


def save(timeline: Timeline, file: str, form: str) -> None:
    """Write the picture to a file, whose folder is made if necessary. Raises OSError."""
    text = written(form, timeline)
    make_folder(os.path.dirname(file))
    with open(file, "w", encoding="utf-8") as out:
        out.write(text)


def written(form: str, timeline: Timeline) -> str:
    """Return the picture in the form html, svg or perfetto, with escaped texts of peers."""
    return FORMS[form](timeline)


def _judged(builder: TimelineBuilder, rows: Iterable[Row | UnknownRow]) -> None:
    from ..audit.auditor import Auditor
    from ..audit.verdicts import Finding

    def pin(found: Finding) -> None:
        builder.finding(
            FindingRow(
                t=found.t, happened=found.t, rule=found.rule, severity=found.severity, group=found.group, member=found.member,
                member_id=found.member_id, client_id=found.client_id, sentence=found.sentence, instead=found.instead, rows=found.rows,
            )
        )  # fmt: skip

    auditor = Auditor(found=pin)
    for row in rows:
        builder.feed(row)
        auditor.feed(row)
    auditor.close()
