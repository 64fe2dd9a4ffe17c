"""Lays a picture out in rows of items, with the sign, the label and the words of each item. Times stay times, because a page can be zoomed.

The SVG form and the page's script (`assets`) draw a scene, and add only the scale of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from ..rounds.tasks import TASK
from ..story.words import count
from .model import (
    APIS,
    OK,
    OPEN,
    WAITS,
    Band,
    Comparison,
    Event,
    Group,
    Lane,
    Life,
    Mark,
    RecordLane,
    Round,
    Source,
    State,
    Timeline,
    Transaction,
)  # fmt: skip
from .ownership_rows import map_rows
from .signs import HUES, PATTERNS, PINS, SIGNS, TILE, Sign
from .summaries import notes_of, summaries
from .words import by_number, held_text

FACTS: Final = {
    "came": "text", "gone": "text", "cause": "text", "partitions": "text", "owners": "text", "why": "text",
    "generation": "text", "members": "number", "leader": "text", "joined last": "text", "moved": "text",
    "preparing": "lasted", "completing": "lasted", "protocol": "text", "told": "text", "plan taken": "text",
    "answered after": "lasted", "slowest answer after": "lasted", "request": "text", "answer": "text", "row": "number", "details": "text",
    "times": "number", "rows": "text", "member id": "text", "client id": "text", "static id": "text", "client library": "text",
    "host": "text", "transactional id": "text", "records": "text",
}  # fmt: skip
"""Maps the names of facts to what their values are: an index into `Scene.texts`, a number, or a number of ns."""
PLACES: Final = {name: place for place, name in enumerate(FACTS)}
TEXTS: Final = frozenset(name for name, kind in FACTS.items() if kind == "text")
PINNED, PINNED_LOW = 15, 12
"""The additional height of a lane that has events."""
KINDS: Final = {"closed": "connection closed", "refused": "not let in", "says": "client says"}


class Item(msgspec.Struct, array_like=True):
    """An item stands in a row: from `since`, for `lasted` ns. `sign` is an index into `Scene.signs`, and `process` the number of the
    process whose colour it has, or -1. `tail` is how long its line lasts. `label`, `what` and `result` are indexes into `Scene.texts`, and
    `facts` has pairs of an index into `Scene.facts` and a value."""

    since: int
    lasted: int
    sign: int
    process: int
    tail: int
    label: int
    what: int
    result: int
    facts: list[int]


class SceneRow(msgspec.Struct, omit_defaults=True):
    """A row of a scene, with its height in pixels, normally and if rows are low.

    `kind` is title, state, lane or another word, and `key` is the same for the same row of a later picture. `group` is an index into
    `Scene.groups`, -1 for the row of a journal. `words` are further words by which the row is found, and `note` is below its title.
    `arrival` is the place of a lane in the order in which members were first seen. A row with a key in `under` is shown only while that
    row is open.
    """

    kind: str
    key: str
    title: str
    group: int
    source: int
    high: int
    low: int
    words: str = ""
    note: str = ""
    arrival: int = 0
    under: str = ""
    facts: list[int] = []
    items: list[Item] = []


class SceneGroup(msgspec.Struct):
    """A group of a scene: its name, the index of its journal, and from when until when it rebalanced."""

    name: str
    source: int
    busy: list[tuple[int, int]]


class SceneSource(msgspec.Struct):
    """A journal of a scene: what is said about it, and its times."""

    about: str
    notices: list[str]
    epoch_ns: int
    begin: int
    end: int


class Scene(msgspec.Struct):
    """A picture that is laid out. `facts` has the names of facts, each with the kind of its value, and `headlines` those of its groups and
    journals."""

    begin: int
    end: int
    sources: list[SceneSource]
    groups: list[SceneGroup]
    rows: list[SceneRow]
    texts: list[str]
    facts: list[tuple[str, str]]
    signs: list[Sign]
    comparisons: list[Comparison]
    hues: tuple[str, ...] = HUES
    patterns: dict[str, tuple[str, str]] = msgspec.field(default_factory=lambda: PATTERNS)
    tile: int = TILE
    headlines: list[str] = []


def scene_of(timeline: Timeline) -> Scene:
    """Return the scene of a picture."""
    return SceneBuilder(timeline).scene()


class SceneBuilder:
    """The builder lays out one picture. The method `add` adds a row, and `item` makes one of its items."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.rows: list[SceneRow] = []
        self._groups: list[SceneGroup] = []
        self._texts: dict[str, int] = {"": 0}
        self._of_texts = [self.text(each) for each in timeline.texts]
        self._of_sets = [self.text(held_text(timeline, place)) for place in range(len(timeline.sets))]
        self._places = {name: place for place, name in enumerate(SIGNS)}
        result = dict.fromkeys(timeline.expected, "led") | {OK: OK, OPEN: "open", WAITS: "open"}
        self._results = [result.get(each, "no") for each in timeline.texts]

    def scene(self) -> Scene:
        timeline = self.timeline
        for place, source in enumerate(timeline.sources):
            if source.events:
                items = [self._event(each, " row") for each in source.events]
                title = f"cluster ({source.name})" if len(timeline.sources) > 1 else "cluster"
                self.add("events", title, -1, place, items, words=source.name)
            self._transactions(source, place)
        for group in timeline.groups:
            self._group(group)
        return Scene(
            timeline.begin, timeline.end, [self._source(each) for each in timeline.sources], self._groups, self.rows, list(self._texts),
            list(FACTS.items()), list(SIGNS.values()), timeline.comparisons, headlines=[*self._headlines()],
        )  # fmt: skip

    def _headlines(self) -> Iterator[str]:
        for group, shown in zip(self.timeline.groups, self._groups, strict=True):
            for sentence in (group.headline, *summaries(group)):
                if sentence:
                    yield f"{shown.name}: {sentence}" if len(self._groups) > 1 else sentence
        yield from (each.headline for each in self.timeline.sources if each.headline)

    def text(self, text: str) -> int:
        """Return the index of a text."""
        return self._texts.setdefault(text, len(self._texts))

    def add(
        self, kind: str, title: str, group: int, source: int, items: Iterable[Item], high: int = 24, low: int = 24, *,
        key: str = "", words: str = "", note: str = "", arrival: int = 0, under: str = "", facts: list[int] | None = None,
    ) -> None:  # fmt: skip
        """Add a row below the rows before."""
        ordered = sorted(items, key=lambda each: (self._layer(each), each.since))
        name = self._key(kind, key or title, group) or f"{kind}\n{source}"
        self.rows.append(SceneRow(kind, name, title, group, source, high, low, words, note, arrival, under, facts or [], ordered))

    def item(
        self, sign: str, since: int, until: int, what: str, result: str = "", label: str = "", process: int = -1, tail: int = 0,
        **facts: Any,
    ) -> Item:  # fmt: skip
        """Return an item of a row. `facts` are by the names of `FACTS`, with underscores for blanks; those that say nothing are left
        out."""
        text = self.text
        return Item(
            since, max(0, until - since), self._places[sign], process, tail, text(label), text(what), text(result), self.facts(**facts)
        )  # fmt: skip

    def facts(self, **facts: Any) -> list[int]:
        """Return facts as pairs of numbers."""
        found: list[int] = []
        for given, value in facts.items():
            name = given.replace("_", " ")
            if value != "" and value is not None:
                found += (PLACES[name], self.text(str(value)) if name in TEXTS else value)
        return found

    def _key(self, kind: str, title: str, group: int) -> str:
        """Return the key of a row of a group, or "" for no row."""
        return f"{self._groups[group].name}\n{kind}\n{title}" if title and group >= 0 else ""

    def _layer(self, item: Item) -> int:
        return self._signs[item.sign].layer

    _signs: Final = list(SIGNS.values())

    # -- a journal and a group

    def _source(self, source: Source) -> SceneSource:
        about = ", ".join(each for each in (source.name, source.run and f"run {source.run}", source.profile, source.product) if each)
        return SceneSource(about, source.notices, source.epoch_ns, source.begin, source.end)

    def _transactions(self, source: Source, place: int) -> None:
        for lane in source.transactions:
            items = [self._event(each, " row") for each in lane.events]
            for each in lane.transactions:
                items += self._transaction(each, source)
            self.add("transactions", lane.name, -1, place, items, key=lane.name, words=f"transaction {lane.producer}")
        rows: dict[str, list[Item]] = {}
        for held in source.held_back:
            told = count(held.records, "record")
            item = self.item(
                "held back", held.since, _end(held.until, source), f"{told} behind the last stable offset {held.offset}",
                "" if held.until is not None else "to the end", f"stable offset {held.offset} \u00b7 {told} behind it",
                partitions=held.partition, transactional_id=held.name,
            )  # fmt: skip
            rows.setdefault(held.partition, []).append(item)
        for partition, items in rows.items():
            self.add("held", f"{partition} held back", -1, place, items, words="transaction")

    def _transaction(self, each: Transaction, source: Source) -> Iterator[Item]:
        end = _end(each.until, source)
        facts: dict[str, Any] = {"partitions": each.partitions, "why": each.reason}
        decided = end if each.decided is None else each.decided
        yield self.item("transaction", each.since, decided, "transaction", each.outcome or "open", each.outcome or "open", **facts)
        if each.decided is not None:
            word = "commit" if each.outcome.startswith("commit") else "abort"
            yield self.item(word, decided, end, f"{word}: the markers are written", "" if each.until is not None else "to the end", word)
        if each.until is not None and each.outcome in ("committed", "aborted"):
            yield self.item(each.outcome, end, end, f"transaction {each.outcome}", **facts)

    def _group(self, group: Group) -> None:
        source = self.timeline.sources[group.source]
        name = f"{group.name} ({source.name})" if len(self.timeline.sources) > 1 else group.name
        busy = [(each.since, _end(each.until, source)) for each in group.states if each.state.startswith(("Preparing", "Completing"))]
        self._groups.append(SceneGroup(name, group.source, busy))
        place, of = len(self._groups) - 1, group.source
        self.add("title", name, place, of, [], 30, 30)
        self.add("state", "state", place, of, [self._state(each, source) for each in group.states])
        if group.rounds or group.generations:
            self.add("rebalances", "rebalances", place, of, self._rebalances(group, source))
        if group.events:
            self.add("events", "events", place, of, [self._event(each, " row") for each in group.events])
        self._map(group, place)
        for records in group.records:
            items = [*self._records(records, source)]
            title = f"{records.partition} records, {records.label}"
            key = f"{records.partition} {records.member_id}"
            self.add("records", title, place, of, items, 36, 36, key=key, words=f"records in flight {records.member_id}")
        self._lanes(group, place, source)

    def _state(self, state: State, source: Source) -> Item:
        sign = f"state {state.state}" if f"state {state.state}" in SIGNS else "state"
        return self.item(
            sign, state.since, _end(state.until, source), state.state, label=f"{state.state} \u00b7 generation {state.generation}",
            generation=state.generation, members=state.members, why=state.reason, cause=state.cause,
        )  # fmt: skip

    def _rebalances(self, group: Group, source: Source) -> Iterator[Item]:
        for each in group.rounds:
            yield self._round(each, source)
        for told in group.generations:
            planned = "never" if told.planned is None else f"{told.planned / 1e9:.3f} s"
            yield self.item(
                "generation", told.began, told.began, f"generation {told.number}", "settled" if told.settled else "not settled",
                f"gen {told.number}", protocol=told.protocol, leader=told.leader, members=told.members,
                told=f"{told.heard} of {told.members}", plan_taken=planned,
            )  # fmt: skip

    def _round(self, each: Round, source: Source) -> Item:
        return self.item(
            "rebalance", each.began, _end(each.ended, source), each.title, each.ended_in or "under way", why=each.reason,
            cause=each.cause, generation=f"{each.generation_before} to {each.generation_after}", members=each.members, leader=each.leader,
            joined_last=each.last_joined,
            moved="not known" if each.moves is None else each.moves, preparing=each.preparing, completing=each.completing,
        )  # fmt: skip

    def _map(self, group: Group, place: int) -> None:
        for row in map_rows(self.timeline, group):
            items = [
                self.item(
                    each.sign, each.since, each.until, each.what, label=each.label, process=each.process, partitions=each.partitions,
                    owners=each.owners, moved=each.moved, why=each.why,
                )
                for each in row.items
            ]  # fmt: skip
            self.add(row.kind, row.title, place, group.source, items, row.high, row.high, under=self._key("topic", row.under, place))

    def _records(self, lane: RecordLane, source: Source) -> Iterator[Item]:
        for each in lane.spans:
            what, open_end = f"{lane.label} has {count(each.number, 'record')}", "" if each.until is not None else "to the end"
            yield self.item(
                "records", each.since, _end(each.until, source), what, open_end, f"has {each.records}", lane.process,
                partitions=lane.partition, records=each.records,
            )  # fmt: skip
        for told in lane.events:
            yield self.item(f"records {told.kind}", told.at, told.at, told.title, "", told.label, partitions=lane.partition, why=told.why)

    # -- the lanes of the members

    def _lanes(self, group: Group, place: int, source: Source) -> None:
        """Add the lanes in the order of their clients. A client that comes back as another member has its lanes side by side."""
        for arrival, lane in sorted(enumerate(group.lanes), key=lambda each: _by_client(each[1])):
            items = [*self._lane(lane, lane.process, source)]
            pinned = any(self._layer(each) == PINS and self._signs[each.sign].name != "aside" for each in items)
            words = " ".join(each for each in (lane.member_id, lane.client_id, lane.instance, lane.library, lane.host) if each)
            facts = self.facts(
                member_id=lane.member_id, client_id=lane.client_id, static_id=lane.instance, client_library=lane.library, host=lane.host
            )  # fmt: skip
            self.add(
                "lane", lane.label, place, group.source, items, 36 + pinned * PINNED, 24 + pinned * PINNED_LOW, key=lane.member_id,
                words=words, note=notes_of(lane.events), arrival=arrival, facts=facts,
            )  # fmt: skip
            if lane.standbys:
                items = [self._standby(each, lane.process, source) for each in lane.standbys]
                self.add("standbys", f"{lane.label} stands by", place, group.source, items, key=lane.member_id, words=words)

    def _lane(self, lane: Lane, process: int, source: Source) -> Iterator[Item]:
        for life in lane.lives:
            yield from self._life(life, source)
        for band in lane.bands:
            yield self._band(band, process, source)
        for mark in lane.marks:
            yield self._mark(mark)
        for event in lane.events:
            yield self._event(event, "")

    def _life(self, life: Life, source: Source) -> Iterator[Item]:
        stays = life.until is None
        facts: dict[str, Any] = {"came": life.came, "gone": "" if stays else life.gone, "cause": life.cause}
        yield self.item("life", life.since, _end(life.until, source), "member", "still there" if stays else life.gone, **facts)
        if life.until is not None:
            cause = life.cause.replace("_", " ")
            sign = "left" if life.cause == "member_left" else "removed"
            label = "" if sign == "left" else cause or "gone"
            yield self.item(sign, life.until, life.until, cause or "gone", life.gone, label, came=life.came)

    def _band(self, band: Band, process: int, source: Source) -> Item:
        until, held = _end(band.until, source), self._of_sets[band.held]
        topics = (self.timeline.topics[each.topic] for each in self.timeline.sets[band.held])
        noun = "task" if any(topic.startswith(TASK) for topic in topics) else "partition"
        what, open_end = f"owns {count(self.timeline.partitions(band.held), noun)}", "" if band.until is not None else "to the end"
        return Item(
            band.since, max(0, until - band.since), self._places["band"], process, 0, held, self.text(what), self.text(open_end),
            [PLACES["partitions"], held],
        )  # fmt: skip

    def _standby(self, band: Band, process: int, source: Source) -> Item:
        tasks, open_end = held_text(self.timeline, band.held), "" if band.until is not None else "to the end"
        what = f"stands by for {count(self.timeline.partitions(band.held), 'task')}"
        return self.item("standby", band.since, _end(band.until, source), what, open_end, tasks, process, partitions=tasks)

    def _mark(self, mark: Mark) -> Item:
        api, alike = APIS[mark.api], mark.count > 1
        after = PLACES["slowest answer after" if alike else "answered after"]
        tail = mark.until - mark.at if alike else mark.latency
        facts = [
            after, mark.latency, PLACES["request"], self._of_texts[mark.asked], PLACES["answer"], self._of_texts[mark.answered],
            PLACES["row"], mark.seq,
        ]  # fmt: skip
        return Item(
            mark.at, mark.until - mark.at, self._places[f"{api} {self._results[mark.result]}"], -1, tail, 0,
            self.text(f"{api} ({mark.count} alike)" if alike else api), self._of_texts[mark.result], facts,
        )  # fmt: skip

    def _event(self, event: Event, where: str) -> Item:
        sign = "finding error" if (event.kind, event.severity) == ("finding", "error") else event.kind
        label = event.title.removeprefix("fault rule ").replace("_", " ")
        if event.kind == "says" and not where:
            label = label.partition(" says: ")[2] or label
        if event.kind == "closed":
            label = "connection closed"
        if event.kind == "says" and event.text:
            sign, label = "aside", ""
        what = event.title if event.kind in ("says", "closed") else f"{KINDS.get(event.kind, event.kind)}: {event.title}"
        return self.item(
            f"{sign}{where}", event.at, event.until, what, event.severity, label, details=event.text,
            times=event.count if event.count > 1 else None, rows=", ".join(map(str, event.rows)),
        )  # fmt: skip


def _end(until: int | None, source: Source) -> int:
    return source.end if until is None else until


def _by_client(lane: Lane) -> tuple[bool, tuple[str, int]]:
    return not lane.member_id, by_number(lane.instance or lane.client_id or lane.label)
