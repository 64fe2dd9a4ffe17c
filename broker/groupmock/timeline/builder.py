"""Turn the rows of one journal into the groups of a picture. Ownership, rebalances and generations come from `groupmock.rounds`; this
module adds their times, and the member of each request.

Memory does not grow with the journal: what is kept is bounded (`thinning`), and `notices` says what was merged or left out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

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
    Header,
    MemberRow,
    MovedRow,
    NoteRow,
    ReplyRow,
    RequestRow,
    Row,
)
from ..journal.whose import field, group_of_command
from ..rounds import Listeners, Rebalances, Span
from ..story.headline import Headlines
from ..story.not_let_in import NotLetIn
from ..story.words import count, facts, seconds, shortened, text
from .group_track import Asking, GroupTrack, more_asking, more_events
from .holdings import Room
from .interned import Tables
from .model import APIS, LOST, NEVER, OK, OPEN, Band, Event, Group, Source
from .record_track import lasting_records
from .said import unsaid
from .summaries import RIGHT, fault_words
from .thinning import Dots, S, Spans
from .transaction_track import TransactionTrack

MOST_ROUTINE: Final = 80_000
"""At most this many marks of accepted heartbeats and commits are kept."""
MOST_SPECIAL: Final = 12_000
"""At most this many marks of all other requests are kept."""
MOST_EVENTS: Final = 6_000
"""At most this many faults, commands, findings and similar events are kept."""
MOST_SPANS: Final = 60_000
"""At most this many spans of time are kept of each kind for one journal: those of a member's partitions, and four times as many of the
ownership map."""
GROUPS: Final = 200
MOST_NOT_LET_IN: Final = 10
"""At most this many sentences say why clients were not let in."""
OPEN_REQUESTS: Final = 10_000
CONNECTIONS: Final = 10_000
LEAVING: Final = 20
"""At most this many members of one LeaveGroup get a mark."""
_BEATS: Final = ("Heartbeat", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
ROUTINE: Final = frozenset((*_BEATS, "OffsetCommit", "TxnOffsetCommit", "ShareFetch", "ShareAcknowledge"))
WAITED: Final = frozenset(("over", "released"))
"""Actions of fault rows that say that a request goes on. They get no mark, because the line behind the request shows how long it waited."""
SILENT: Final = frozenset(("create_topic", "append", "reseed", "seed_faults"))
"""Commands that get no mark, because their effects are drawn."""
Where = tuple[str, int | None]
"""The place of an item in the picture: a group and the index of a member's lane in it, or None for the whole group."""


class Limits(NamedTuple):
    """The numbers of items that a picture keeps at most: marks of accepted heartbeats and commits, marks of all other requests, events,
    and spans of time."""

    routine: int
    special: int
    events: int
    spans: int


class Asked(NamedTuple):
    """A request of a member or client that is not answered yet."""

    row: RequestRow
    group: str
    members: list[str]


class TimelineBuilder(RowReader):
    """Collects the rows of a journal, which are passed to `feed` in order until `finish`.

    `name` is that of the journal. If `group` is given, only that group is drawn. The picture has the time from `begin` to `end` (ns of the
    run). `tables` are shared by the journals of one picture. `findings` is False if the caller judges the clients itself and calls
    `finding`.
    """

    most_others = OPEN_REQUESTS

    def __init__(
        self, name: str, header: Header | None, tables: Tables, group: str | None = None, begin: int = 0, end: int | None = None,
        findings: bool = True,
    ) -> None:  # fmt: skip
        self._name, self._header, self._tables, self._only = name, header, tables, group
        self._begin, self._end, self._findings = begin, end, findings
        self._now = begin
        self._first: int | None = None
        most = self.limits()
        self._room = Room(Spans[Band](most.spans), Spans[Span](4 * most.spans))
        self._tracks: dict[str, GroupTrack] = {}
        self.others: set[str] = set()
        """The printable names of groups that are not drawn, at most `most_others` of them."""
        self.transactions = TransactionTrack()
        self._rebalances = Rebalances(group, self._watched)
        self.headlines = Headlines(self._rebalances)
        self._routine = Dots[Asking](most.routine, more_asking)
        self._special = Dots[Asking](most.special, more_asking)
        self._events = Dots[Event](most.events, more_events)
        self._asked: OrderedDict[int, Asked] = OrderedDict()
        self._libraries: OrderedDict[int, str] = OrderedDict()  # Maps connections to client libraries.
        self._spoke: OrderedDict[int, dict[Where, None]] = OrderedDict()  # Maps a connection to the lanes of the members that used it.
        self._stalled: dict[Any, Event] = {}
        self._not_let_in = NotLetIn()
        self._untold = 0

    def limits(self) -> Limits:
        """Return how many items of each kind are kept."""
        return Limits(MOST_ROUTINE, MOST_SPECIAL, MOST_EVENTS, MOST_SPANS)

    def feed(self, row: Row | UnknownRow) -> None:
        """Read the next row of the journal."""
        if self._end is not None and row.t > self._end:
            return
        self._now = max(self._now, row.t)
        self.headlines.sees(row.t)
        self._first = row.t if self._first is None else self._first
        take = self.handlers.get(row.__class__)
        try:
            self._not_let_in.feed(row)
            if take is None:
                return
            over = self._rebalances.feed(row)
            self.headlines.feed(row, over)
            if over is not None and (track := self._track(over.group)) is not None:
                track.over(over)
            take(self, row)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):  # In a journal of another program a message may be anything.
            self._untold += 1

    def finding(self, row: FindingRow) -> None:
        """Note that a client broke a rule of the audit."""
        if row.group is not None and self._only not in (None, row.group):
            return
        where: Where | None = None
        if row.group is not None and (track := self._track(row.group)) is not None:
            where = (row.group, track.lanes.place(row.member_id) if row.member_id else None)
        waived = f" (waived: {text(row.waived)})" if row.waived is not None else ""
        told = f"{shortened(row.sentence)}{RIGHT}{shortened(row.instead)}{waived}"
        self._event(
            where, Event(row.happened, row.happened, "finding", text(row.rule), told, text(row.severity), rows=tuple(row.rows[:8]))
        )  # fmt: skip

    def until(self, now: int) -> None:
        """Extend the picture to a time (ns of the run) after the last row."""
        self._now = max(self._now, now)
        self.headlines.until(self._now)

    def finish(self, source: int, notices: list[str]) -> tuple[Source, list[Group]]:
        """Return the journal as a source of the picture, and its groups, because there are no more rows. `source` is the index of the
        journal in the picture; `notices` say what the journal lacks."""
        for asked in self._asked.values():
            self._mark(asked, OPEN, self._now, "")
        for rebalance in self._rebalances.close():
            if (track := self._track(rebalance.group)) is not None:
                track.over(rebalance)
        dots = BothDots(self._special, self._routine)
        groups = [self._drawn(track, source, dots) for track in self._tracks.values()]
        header = self._header
        events = [each for (group, *_), found in self._events.items() if group is None for each in found]
        made = Source(
            text(self._name, 200), text(header.run) if header else "", text(header.product) if header else "",
            text(header.profile) if header else "", header.epoch_ns if header else 0, self._begin, self._now,
            [*notices, *self._not_let_in.sentences()[:MOST_NOT_LET_IN], *self._left_out()],
            sorted(events, key=lambda each: each.at), headline=self.transactions.headline(self._now),
        )  # fmt: skip
        if self._only is None:
            made.transactions, made.held_back = self.transactions.lanes()
        return made, [self._shown(group) for group in groups]

    # -- what is where

    def _watched(self, group: str) -> Listeners:
        track = self._track(group)
        return Listeners() if track is None else Listeners(track.holdings.changed, track.holdings.began, track.holdings.stands)

    def _drawn(self, track: GroupTrack, source: int, dots: BothDots) -> Group:
        fold = self._rebalances.groups.get(track.name)
        begins_before = fold is not None and fold.whole is False
        found = track.group(source, dots, self._events, fold, self._first if begins_before else None)
        found.headline = self.headlines.of(track.name)
        return found

    def _track(self, group: str) -> GroupTrack | None:
        track = self._tracks.get(group)
        if track is None and (self._only not in (None, group) or len(self._tracks) >= GROUPS):
            if len(self.others) < self.most_others:
                self.others.add(text(group))
        elif track is None:
            track = self._tracks[group] = GroupTrack(group, self._tables, self._room)
        return track

    def _shown(self, group: Group) -> Group:
        """Remove from a group everything that ended before the drawn part of the journal begins."""
        begin = self._begin
        if begin:
            group.states = _lasting(group.states, begin)
            group.owners = _lasting(group.owners, begin)
            for lane in group.lanes:
                lane.bands, lane.standbys = _lasting(lane.bands, begin), _lasting(lane.standbys, begin)
            group.rounds = [each for each in group.rounds if each.ended is None or each.ended >= begin]
            group.records = lasting_records(group.records, begin)
        return group

    def _left_out(self) -> Iterator[str]:
        for dots, what in ((self._routine, "accepted heartbeats and commits"), (self._special, "other requests"), (self._events, "events")):
            marks, stand_for = dots.together
            if marks:
                yield f"{stand_for} {what} that came out alike within {seconds(dots.width)} s are drawn as {count(marks, 'mark')}"
            if dots.dropped:
                yield f"{dots.dropped} {what} are not drawn: there was no room"
        for spans, what in (
            (self._room.bands, "bands"),
            (self._room.owners, "parts of the ownership map"),
        ):
            if spans.dropped:
                yield f"{spans.dropped} {what} shorter than {seconds(spans.shortest)} s are not drawn"
        states = sum(track.left_out for track in self._tracks.values())
        lanes = sum(track.lanes.left_out for track in self._tracks.values())
        if self.transactions.left_out:
            yield f"{self.transactions.left_out} transactions and changes of transactional ids are not drawn"
        if records := sum(track.records.left_out for track in self._tracks.values()):
            yield f"{records} changes of records in flight are not drawn"
        if states:
            yield f"{states} changes of state are not drawn"
        if lanes:
            yield f"{lanes} requests and changes of members beyond the first {len(self._tracks)} x 2000 share one lane of their group"
        if self.others and self._only is None:
            yield f"{len(self.others)} more groups are not drawn: name one with --group"
        if self._untold:
            yield f"{self._untold} rows could not be drawn: their messages are not what their API has"

    # -- requests and answers

    @takes
    def _request(self, row: RequestRow) -> None:
        if row.api_name == "ApiVersions":
            self._learn_library(row)
        self.transactions.request(row)
        group = field(row.message, "group_id") if row.api_name in APIS else None
        if not isinstance(group, str) or self._track(group) is None:
            return
        self._asked[row.ticket] = Asked(row, group, _members_of(row))
        if len(self._asked) > OPEN_REQUESTS:
            self._mark(self._asked.popitem(last=False)[1], OPEN, row.t, "")

    @takes
    def _reply(self, row: ReplyRow) -> None:
        self.transactions.reply(row)
        asked = self._asked.pop(row.ticket, None)
        if asked is None:
            return
        if asked.members == [""] and isinstance(given := field(row.message, "member_id"), str) and given:
            asked = asked._replace(members=[given])
        result = text(row.error) if row.error else OK if row.delivered else LOST
        self._mark(asked, result, row.t, "", row)
        if row.api_name == "JoinGroup" and (fold := self._rebalances.groups.get(asked.group)) is not None:
            self._tracks[asked.group].generation(fold)

    @takes
    def _abandoned(self, row: AbandonedRow) -> None:
        asked = self._asked.pop(row.ticket, None)
        if asked is not None:
            self._mark(asked, NEVER, row.t, shortened(row.reason))

    def _mark(self, asked: Asked, result: str, at: int, answer: str, reply: ReplyRow | None = None) -> None:
        row, track = asked.row, self._tracks[asked.group]
        latency = max(0, at - row.received)
        api = APIS.index(row.api_name)
        dots = self._routine if result == OK and row.api_name in ROUTINE else self._special
        for member in asked.members:
            place = track.lanes.took_part(member, row.client_id, self._libraries.get(row.connection))
            self._speaks(row.connection, (asked.group, place))
            if max(at, row.t) < self._begin:
                continue

            def brief() -> Asking:
                return Asking(row.t, row.t, 1, latency, row.seq)

            def whole() -> Asking:
                told = unsaid(row, f"{row.api_name} v{row.api_version}: ")
                return Asking(row.t, row.t, 1, latency, row.seq, told, unsaid(reply) if reply is not None else answer)

            dots.add((asked.group, place, api, result), row.t, whole, brief)

    def _learn_library(self, row: RequestRow) -> None:
        name, version = field(row.message, "client_software_name"), field(row.message, "client_software_version")
        if isinstance(name, str) and name:
            _remember(self._libraries, row.connection, f"{text(name)} {text(version or '')}".strip())

    def _speaks(self, connection: int, who: Where) -> None:
        if connection not in self._spoke:
            _remember(self._spoke, connection, {})
        self._spoke[connection][who] = None

    # -- what the coordinator and others do

    @takes
    def _moved(self, row: MovedRow) -> None:
        if (track := self._track(row.group)) is not None:
            track.moved(row)

    @takes
    def _member(self, row: MemberRow) -> None:
        if (track := self._track(row.group)) is None:
            return
        track.lanes.member(row)
        if row.what == "refused":
            where = (row.group, track.lanes.place(row.member_id))
            self._event(where, Event(row.t, row.t, "refused", "not let in", shortened(row.reason)))

    @takes
    def _closed(self, row: CloseRow) -> None:
        self._libraries.pop(row.connection, None)
        whose = self._spoke.pop(row.connection, {})
        # The server closes its connections with this reason when the run is over.
        if row.by == "server" and row.reason.startswith("the server"):
            return
        for where in whose:
            told = Event(row.t, row.t, "closed", f"connection closed by the {text(row.by)}", shortened(row.reason))
            self._event(where, told)

    @takes
    def _fault(self, row: FaultRow) -> None:
        if row.action in WAITED:
            return
        asked = self._asked.get(row.ticket) if row.ticket is not None else None
        told = fault_words(row.action, row.fields)
        if asked is not None:
            told = f"{asked.row.api_name}: {told}"
            whose: list[Where | None] = [(asked.group, self._tracks[asked.group].lanes.place(member)) for member in asked.members]
        else:
            whose = [*self._spoke.get(-1 if row.connection is None else row.connection, {})]
        for where in whose or [None]:
            self._event(where, Event(row.t, row.t, "fault", f"fault rule {text(row.rule)}", told))

    @takes
    def _command(self, row: CommandRow) -> None:
        if row.name in SILENT:
            return
        if "transactional_id" in row.arguments:
            self.transactions.command(row)
            return
        group, member = group_of_command(row), row.arguments.get("member")
        told = Event(row.t, row.t, "command", text(row.name), facts(row.arguments))
        if not isinstance(group, str):
            self._event(None, told)
        elif (track := self._track(group)) is not None:
            self._event((group, track.lanes.meant(member) if isinstance(member, str) else None), told)

    @takes
    def _client(self, row: ClientRow) -> None:
        meant = ((name, track.lanes.meant(row.client)) for name, track in self._tracks.items())
        where = next(((name, place) for name, place in meant if place is not None), None)

        # The function makes the event only when it is needed, because most events of a long run are only counted.
        def told() -> Event:
            if row.what == "step" and len(row.fields) > 1:  # A step of a scenario, such as "kill m0002", is told in its own words.
                return Event(row.t, row.t, "says", " ".join(text(each) for each in row.fields.values()))
            return Event(row.t, row.t, "says", f"{text(row.client)} says: {text(row.what)}", facts(row.fields))

        self._pin(where, ("says", row.client, row.what, msgspec.json.encode(row.fields)), row.t, row.t, told)

    @takes
    def _note(self, row: NoteRow) -> None:
        self.transactions.note(row)
        if (group := row.fields.get("group")) is not None and row.what.startswith("records_") and (track := self._track(group)) is not None:
            track.records.note(row)
        if row.what == NODE_STALLED:
            self._stalled[row.node] = Event(row.t, row.t, "note", f"node {row.node} stalls", facts(row.fields))
        elif row.what == NODE_RESUMED:
            stalled = self._stalled.pop(row.node, None) or Event(row.t, row.t, "note", f"node {row.node} goes on")
            stalled.until = row.t
            self._event(None, stalled)
        elif row.what == "internal error":
            self._event(None, Event(row.t, row.t, "note", "internal error", facts(row.fields)))

    @takes
    def _found(self, row: FindingRow) -> None:
        if self._findings:
            self.finding(row)

    def _event(self, where: Where | None, event: Event) -> None:
        self._pin(where, (event.kind, event.title, event.text), event.at, event.until, lambda: event)

    def _pin(self, where: Where | None, alike: tuple[object, ...], at: int, until: int, told: Callable[[], Event]) -> None:
        """Add an event to the lane of a member or to a group. Of several events with an equal `alike` at the same time one is kept, with
        a count."""
        if until >= self._begin and (self._end is None or at <= self._end):
            group, place = where if where is not None else (None, None)
            self._events.add((group, place, *alike), at, told, lambda: Event(at, until, "", ""))


class BothDots(Dots[Asking]):
    """The marks of accepted heartbeats and commits and those of all other requests, as one collection."""

    def __init__(self, *dots: Dots[Asking]) -> None:
        super().__init__(1, more_asking)
        self._parts = dots

    def items(self) -> Iterator[tuple[Any, list[Asking]]]:
        """Yield the items of `Dots.items` for both kinds."""
        for part in self._parts:
            yield from part.items()


def _lasting(spans: list[S], begin: int) -> list[S]:
    """Return the spans of time that last beyond `begin`."""
    return [each for each in spans if each.until is None or each.until >= begin]


def _members_of(row: RequestRow) -> list[str]:
    """Return the ids of the members that a request is about, "" for a member without an id. LeaveGroup names several members from
    version 3 on (KIP-345)."""
    leaving = field(row.message, "members") if row.api_name == "LeaveGroup" else None
    if isinstance(leaving, list) and leaving:
        return [str(field(each, "member_id") or "") for each in leaving[:LEAVING]]
    member = field(row.message, "member_id")
    return [member if isinstance(member, str) else ""]


def _remember(kept: OrderedDict[int, Any], connection: int, value: Any) -> None:
    kept[connection] = value
    if len(kept) > CONNECTIONS:
        kept.popitem(last=False)
