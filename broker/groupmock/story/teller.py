"""Tell the stories of journal rows, as people read them in failed tests, `group show`, files and the demo.

A story is a head line (state, generation, protocol, members, lag), a summary of at most ten lines if the story is long, a line per event
(`tale`), and a last line with seed and journal. Rows without a group are told in the stories that they concern: a client's requests about
topics and records in the story of the member with its client id, and commands, nodes and fault rules for all groups in every story.

Memory and output are bounded, whatever the journal's length: a long story keeps its beginning and end, and of many groups only the first
are told.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from ..journal.dispatch import RowReader, takes
from ..journal.read import UnknownRow
from ..journal.rows import (
    NODE_RESUMED,
    NODE_STALLED,
    AbandonedRow,
    ClientRow,
    CloseRow,
    CommandRow,
    FaultRow,
    FindingRow,
    MemberRow,
    MovedRow,
    NoteRow,
    OpenRow,
    ReplyRow,
    RequestRow,
    Row,
    TimerRow,
)
from ..journal.whose import field, group_of, group_of_command
from ..rounds import Rebalances
from ..rounds.fold import DELETED
from .asked import PARKED, Asked
from .awaited import Known
from .besides import SHOWN, besides
from .causes import Case, likely_lines
from .exchanged import TopicNames, items
from .folding import Line
from .group_notes import LINES_OF
from .head import ServerView, head
from .headline import Headlines
from .not_let_in import RETURNS
from .not_served import NotServed
from .people import Person
from .section import Section
from .sentences import of_denied, of_transaction
from .tale import Tale
from .transactional import Transactions
from .words import count, facts, listed, text

MOST: Final = 400
GROUPS: Final = 20
"""At most this many groups get a story."""
LONG: Final = 40
"""A story with more lines than this has a summary at the top."""
OPEN: Final = 100_000
"""At most this many requests without an answer are remembered."""
CLIENTS: Final = 1000
EARLIER: Final = 20
"""At most this many lines are kept until it is known to which group they belong."""
SILENT: Final = frozenset(("create_topic", "append", "reseed", "seed_faults"))
"""Commands that are not mentioned, because the story shows their effects."""
NOTES: Final = frozenset((NODE_STALLED, NODE_RESUMED, "internal error"))
WHO_WRITES: Final = frozenset(
    ("producer_came", "producer_replaced", "timed_out", "epochs_ended", "fenced", "abort_ordered", "fence_ordered", "expiry_ordered",
     "markers_held")
)  # fmt: skip
"""Causes of notes about transactional ids that appear in every group's story, because no row says to which group a producer belongs. The
ends of its transactions are told by the group whose offsets they commit."""

Sessions = Mapping[str, Mapping[str, int]]
"""Maps a group and a member id to the deadline of the member's session (ns)."""


class NotTold(LookupError):
    """Raised if there is no story about this group or member. The text says which there are."""


class StoryTeller(RowReader):
    """Collects rows by `feed` and returns the stories by `sections`. `told`, if given, is called with each line at once, with its group
    (a demo, a log)."""

    def __init__(
        self,
        group: str | None = None,
        *,
        member: str | None = None,
        since: int = 0,
        most: int = MOST,
        told: Callable[[str, Line], None] | None = None,
    ) -> None:
        self._rebalances = Rebalances(group)
        self._headlines = Headlines(self._rebalances)
        self._only, self._member, self._since, self._most, self._told = group, member, since, most, told
        self._sections: dict[str, Section] = {}
        self._others: set[str] = set()
        # Maps the ticket of a request to its group, the request, and its group's story.
        self._asked: OrderedDict[int, tuple[str | None, Asked, Section | None]] = OrderedDict()
        self._groups_of: dict[str, set[str]] = {}  # Maps client ids to the groups that they joined.
        # Maps client ids to refusals that came before the client joined a group.
        self._earlier: dict[str, deque[tuple[ReplyRow, Asked]]] = {}
        self._for_all: deque[Line] = deque(maxlen=EARLIER)
        self.not_served = NotServed()
        self._names = TopicNames()
        self._transactions = Transactions(names=self._names, most=LONG, since=since)
        self._unseen: FaultRow | None = None  # The last fault row, if its request has no row: the answer may be the next row.
        self._holding: dict[Section, None] = {}  # Stories with a line that waits for the next row.
        self._member_seen = member is None
        self._now = 0
        self._libraries: dict[str | None, str] = {}  # Maps client ids to client libraries.
        self._begins: int | None = None  # Number of the first row; above 1 the rows begin in the middle of the run.
        self.untold = 0
        """Counts rows whose messages do not fit their API."""

    def feed(self, row: Row | UnknownRow) -> None:
        take = self.handlers.get(row.__class__)
        if self._holding and row.t > self._now:
            self._let_go(row.t)
        self._now = max(self._now, row.t)
        self._headlines.sees(row.t)
        if self._begins is None:
            self._begins = row.seq
        if take is None:
            return
        try:
            self.not_served.feed(row)
            self._transactions.feed(row)
            if self._unseen is not None:
                self._struck_unseen(row)
            over = self._rebalances.feed(row)
            self._headlines.feed(row, over)
            for section, line in take(self, row, over):
                self._line(section, line)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):  # In a journal of another program a message may be anything.
            self.untold += 1

    def flush(self) -> None:
        """Write the lines that wait for a repetition."""
        for section in self._sections.values():
            for line in section.tale.flush():
                self._line(section, line)
            for line in section.folded.rest():
                self._keep(section, line)

    def close(self, now: int | None = None, sessions: Sessions | None = None) -> None:
        """End the stories, because there are no more rows. `now` and `sessions` are those of `tell`."""
        self._struck_unseen(None)
        self._now = self._now if now is None else max(now, self._now)
        self._headlines.until(self._now)
        for name, section in self._sections.items():
            known = Known((sessions or {}).get(name, {}), requests=self._open_requests)
            for line in section.tale.end(self._now, known):
                self._line(section, line)
        self.flush()

    def awaited(self, group: str, now: int, sessions: Sessions) -> list[str]:
        """Return descriptions of what the group waits for (see `story.awaited`)."""
        section = self._sections.get(group)
        if section is None:
            return []
        tale = section.tale
        waiting = tale.waiting(now, Known(sessions.get(group, {}), requests=self._open_requests))
        return [*(each for each in (waiting, tale.sync_phases.failed) if each is not None), *tale.reading.held_up[:SHOWN]]

    @property
    def topics(self) -> Collection[str]:
        """The topics that exist, as far as the rows tell."""
        return self._rebalances.counts

    def likely(self, group: str, now: int, whole: bool) -> list[str]:
        """Return the likely causes of a group's trouble, a line each (see `story.causes`). `whole`: these are all rows of the run."""
        section = self._sections.get(group)
        if section is None:
            return []
        return likely_lines(Case(section.tale, max(now, self._now), whole, self.topics, self._libraries))

    def _open_requests(self, person: Person) -> Iterator[Asked]:
        """Yield the open requests of a member's client. A JoinGroup, SyncGroup or Fetch is included only if a rule keeps it, because
        these requests always wait."""
        for _, asked, _ in self._asked.values():
            mine = asked.connection == person.connection or (asked.client_id is not None and asked.client_id == person.client_id)
            if mine and (asked.kept_by is not None or asked.api not in PARKED):
                yield asked

    def tale(self, group: str) -> Tale | None:
        """Return the story of a group up to the last row, or None if it has no story."""
        section = self._sections.get(group)
        return section.tale if section is not None else None

    def sections(self, dropped: int = 0, views: Mapping[str, ServerView] | None = None) -> Iterator[str]:
        """Yield the story of each group. Raises NotTold."""
        self._check()
        whole = not dropped and (self._begins or 0) <= 1
        if dropped:
            yield f"({dropped} older rows are no longer kept)"
        for place, section in enumerate(self._sections.values()):
            if place:
                yield ""
            yield head(section.tale, (views or {}).get(section.tale.fold.name), whole)
            if headline := self._headlines.of(section.tale.fold.name):
                yield f"  {headline}"
            yield from (f"  {line}" for line in self.likely(section.tale.fold.name, self._now, whole))
            if section.lines.count > LONG:
                yield from (f"  {line}" for line in section.tale.tally.lines(joined=section.tale.generation > 0))
            yield from section.lines.lines()
        if self._only is None and self._member is None:
            yield from besides(self._transactions, self.not_served, self._now, self._since, bool(self._sections), whole, self.topics)
        if self._others and self._only is None:
            least = "at least " if len(self._others) == CLIENTS else ""
            yield f"({least}{len(self._others)} more groups are not told: name one of {listed(sorted(self._others))})"
        if self.untold:
            yield f"({count(self.untold, 'row')} could not be told: their messages are not what their API has)"

    # -- which story a row belongs to

    def _section(self, group: str) -> Section | None:
        section = self._sections.get(group)
        if section is not None:
            return section
        if self._only is not None and group != self._only:
            self._others_add(group)
            return None
        if len(self._sections) >= GROUPS:
            self._others_add(group)
            return None
        tale = Tale(self._rebalances.of(group), self._names, self._transactions.open_on)
        section = self._sections[group] = Section(tale, self._most)
        for line in self._for_all:
            self._line(section, line)
        return section

    def _others_add(self, group: str) -> None:
        if len(self._others) < CLIENTS:
            self._others.add(text(group))  # The group id is stored in a shortened form, because it may have 32,767 bytes.

    def _of_client(self, client_id: str | None) -> Section | None:
        """Return the story of the only group that this client joined, or None if it joined several or none."""
        groups = self._groups_of.get(client_id or "", set())
        return self._sections.get(next(iter(groups))) if len(groups) == 1 else None

    def _let_go(self, now: int) -> None:
        """Write lines that were held back long enough without a repetition."""
        holding, self._holding = self._holding, {}
        for section in holding:
            for line in (*section.tale.flush(), *section.tale.overdue(now)):
                self._line(section, line)
            if section.tale.holds:
                self._holding[section] = None

    # -- rows

    @takes
    def _moved(self, row: MovedRow, over: Any) -> Iterator[tuple[Section, Line]]:
        if (section := self._section(row.group)) is not None:
            yield from ((section, line) for line in section.tale.moved(row, over))

    @takes
    def _of_member(self, row: MemberRow, _: Any) -> Iterator[tuple[Section, Line]]:
        if (section := self._section(row.group)) is None:
            return
        yield from ((section, line) for line in section.tale.member(row))
        self._holding[section] = None
        # In the group's row a replaced static member keeps the old client id, as in Kafka, so the new member's client id is taken from its
        # JoinGroup.
        came = section.tale.people.here.get(row.member_id)
        client_id = came.client_id if came is not None else row.client_id
        if client_id is not None and len(self._groups_of) < CLIENTS:
            groups = self._groups_of.setdefault(client_id, set())
            if len(groups) < 2:  # Two groups are stored at most, because two show that the client is not in one group only.
                groups.add(row.group)
            for reply, asked in self._earlier.pop(client_id, ()):
                yield from ((section, line) for line in section.tale.answered(reply, asked))

    @takes
    def _request(self, row: RequestRow, _: Any) -> Iterator[tuple[Section, Line]]:
        group, asked = group_of(row), Asked(row, row.message)
        if (library := field(row.message, "client_software_name")) and len(self._libraries) < CLIENTS:
            self._libraries[row.client_id] = str(library)
        section = self._section(group) if group is not None else self._of_client(row.client_id)
        self._asked[row.ticket] = group, asked, section
        if len(self._asked) > OPEN:
            self._asked.popitem(last=False)
        if section is not None and group is not None:
            yield from ((section, line) for line in section.tale.asked(row, asked))
        elif section is not None and row.api_name == "Fetch":
            yield from ((section, line) for line in section.tale.reads(row))

    @takes
    def _reply(self, row: ReplyRow, _: Any) -> Iterator[tuple[Section, Line]]:
        group, asked, section = self._asked.pop(row.ticket, (None, None, None))
        if asked is None:
            return
        self._learn(row)
        section = section or (self._of_client(asked.client_id) if group is None else None)
        if section is not None:
            yield from ((section, line) for line in section.tale.answered(row, asked))
        elif group is None and asked.client_id is not None and row.error and len(self._earlier) < CLIENTS:
            self._earlier.setdefault(asked.client_id, deque(maxlen=EARLIER)).append((row, asked))

    def _learn(self, row: ReplyRow) -> None:
        """Learn the names of topics from answers to Metadata."""
        if row.api_name == "Metadata":
            for topic in items(row.message, "topics"):
                self._names.learn(field(topic, "topic_id"), field(topic, "name"))

    @takes
    def _abandoned(self, row: AbandonedRow, _: Any) -> Iterator[tuple[Section, Line]]:
        group, asked, section = self._asked.pop(row.ticket, (None, None, None))
        if asked is not None and group is not None and section is not None:
            yield section, section.tale.abandoned(row, asked)

    @takes
    def _opened(self, row: OpenRow, _: Any) -> Iterator[tuple[Section, Line]]:
        yield from ()

    @takes
    def _closed(self, row: CloseRow, _: Any) -> Iterator[tuple[Section, Line]]:
        # The server closes its connections with this reason when the run is over.
        if row.by == "server" and row.reason.startswith("the server"):
            return
        for section in self._sections.values():
            yield from ((section, line) for line in section.tale.closed(row))
            self._holding[section] = None

    @takes
    def _command(self, row: CommandRow, _: Any) -> Iterator[tuple[Section, Line]]:
        if row.name in SILENT:
            return
        group = group_of_command(row)
        if isinstance(group, str):
            if (section := self._section(group)) is not None:
                yield from ((section, line) for line in section.tale.ordered(row))
        else:
            yield from ((section, line) for section in self._sections.values() for line in section.tale.ordered(row))
            self._for_all.append(Line(row.t, f"ordered by the test: {text(row.name)} {facts(row.arguments)}".rstrip()))

    @takes
    def _timer(self, row: TimerRow, _: Any) -> Iterator[tuple[Section, Line]]:
        if row.timer == RETURNS:
            for section in self._sections.values():
                section.tale.evidence.lacking.clear()
        yield from ()

    @takes
    def _fault(self, row: FaultRow, _: Any) -> Iterator[tuple[Section, Line]]:
        if row.ticket is not None and row.ticket not in self._asked:
            self._unseen = row  # The request was a heartbeat that changed nothing, which rows in memory leave out.
            return
        group, asked, section = self._asked[row.ticket] if row.ticket is not None else (None, None, None)
        if asked is not None:
            asked.struck(row)
            if section is not None and group is not None and not asked.applied:
                section.tale.handled(asked, row.t, row.seq)
        if section is not None:
            yield section, section.tale.struck(row, asked)
        elif group is None:
            yield from ((each, each.tale.struck(row, asked)) for each in self._speaking(row.connection))

    def _speaking(self, connection: int | None) -> list[Section]:
        """Return the stories of the members that use this connection, or all stories if no member is known to use it."""
        sections = list(self._sections.values())
        mine = [each for each in sections if connection is not None and each.tale.people.of_connection(connection)]
        return mine or sections

    def _struck_unseen(self, row: Row | UnknownRow | None) -> None:
        """Describe a fault of a request that has no row. If the next `row` is its answer, that names the API; otherwise only the
        connection is known."""
        fault, self._unseen = self._unseen, None
        if fault is None:
            return
        answer = row if isinstance(row, ReplyRow) and row.ticket == fault.ticket else None
        asked = Asked(answer, None) if answer is not None else None
        if asked is not None:
            asked.struck(fault)
        for section in self._speaking(fault.connection):
            self._line(section, section.tale.struck(fault, asked))
            for line in section.tale.answered(answer, asked) if answer is not None and asked is not None else ():
                self._line(section, line)

    @takes
    def _finding(self, row: FindingRow, _: Any) -> Iterator[tuple[Section, Line]]:
        section = self._section(row.group) if row.group is not None else None
        if section is not None and row.waived is None:
            yield section, section.tale.found(row)

    @takes
    def _client(self, row: ClientRow, _: Any) -> Iterator[tuple[Section, Line]]:
        told = f"{text(row.client)} says: {text(row.what)} {facts(row.fields)}".rstrip()
        for section in self._sections.values():
            yield section, Line(row.t, told, (), ("says", row.client, row.what))

    @takes
    def _note(self, row: NoteRow, _: Any) -> Iterator[tuple[Section, Line]]:
        if row.what == "topic_created":
            self._names.learn(row.fields.get("topic_id"), row.fields.get("topic"))
        elif row.what in NOTES:
            for section in self._sections.values():
                yield section, Line(row.t, f"{text(row.what.replace('_', ' '))} {facts(row.fields)}".rstrip())
        elif (denied := of_denied(row)) is not None:
            if (of := self._asked.get(row.fields["ticket"])) is not None:
                of[1].lacks(denied)
        elif (lines_of := LINES_OF.get(row.what)) is not None:
            if (mine := self._section(row.fields["group"])) is not None:
                yield from ((mine, line) for line in lines_of(mine.tale, row))
        elif row.what == DELETED:
            for section in self._sections.values():
                section.tale.committed.forget_topic(str(row.fields["topic"]))
        elif row.fields.get("cause") in WHO_WRITES and (said_so := of_transaction(row)) is not None:
            yield from ((section, Line(row.t, said_so)) for section in self._sections.values())

    # -- lines

    def _line(self, section: Section, line: Line) -> None:
        for each in section.folded.feed(line):
            self._keep(section, each)

    def _keep(self, section: Section, line: Line) -> None:
        if line.until < self._since or not self._about(section, line):
            return
        section.lines.add(line.text, line.at)
        if self._told is not None:
            self._told(section.tale.fold.name, line)

    def _about(self, section: Section, line: Line) -> bool:
        if self._member is None or not line.who:
            return True
        found = not line.who.isdisjoint(section.tale.people.matching(self._member))
        self._member_seen = self._member_seen or found
        return found

    def _check(self) -> None:
        if self._only is not None and self._only not in self._sections:
            there = f"there are {listed(sorted(self._others))}" if self._others else "there is none at all"
            raise NotTold(f"no group {text(self._only)!r} in these rows: {there}")
        if not self._member_seen:
            there = listed([person.name for section in self._sections.values() for person in section.tale.people.here.values()])
            raise NotTold(f"nothing is told of a member {text(self._member)!r}: there are {there or 'none'}")
