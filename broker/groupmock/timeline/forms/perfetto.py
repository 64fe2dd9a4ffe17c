"""The Perfetto form of a picture is for ui.perfetto.dev and chrome://tracing: the JSON of Chrome's Trace Event Format
(https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).

Each group is a process and each member a thread. Ownership is drawn as slices ("X"), waiting requests as asynchronous slices ("b", "e"),
and everything else as instants ("i"). `ts` and `dur` are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ...rounds import OWNED
from ...text.printable import ascii_json
from ..model import APIS, OK, Event, Group, Lane, Mark, RecordLane, Timeline
from ..ownership_rows import map_rows
from ..words import held_text

STATES, ROUNDS, EVENTS, FIRST_LANE, FIRST_PARTITION, FIRST_RECORDS = 1, 2, 3, 10, 100_000, 200_000
"""The numbers that the rows of a group have as threads of the trace."""
THREADS: Final = {STATES: "group state", ROUNDS: "rebalances", EVENTS: "events of the group"}
PARKED_NS: Final = 1_000_000
"""A request that waited longer than this many ns is drawn as a slice with a duration."""
Trace = dict[str, Any]


def write(timeline: Timeline) -> str:
    """Return the picture as the text of one JSON object."""
    told = {
        "displayTimeUnit": "ms",
        "otherData": {"by": f"groupmock {timeline.groupmock}", "notices": [text for each in timeline.sources for text in each.notices]},
        "traceEvents": list(_events(timeline)),
    }
    return ascii_json(msgspec.json.encode(told)).decode() + "\n"


def _events(timeline: Timeline) -> Iterator[Trace]:
    for place, source in enumerate(timeline.sources):
        if source.events:
            process = 10_000 + place
            yield _meta("process_name", process, 0, name=f"cluster of {source.name}")
            yield from (_instant(process, 1, each) for each in source.events)
    for process, group in enumerate(timeline.groups, 1):
        yield from _group(timeline, process, group)


def _group(timeline: Timeline, process: int, group: Group) -> Iterator[Trace]:
    journal = f" ({timeline.sources[group.source].name})" if len(timeline.sources) > 1 else ""
    yield _meta("process_name", process, 0, name=f"group {group.name}{journal}")
    yield _meta("process_sort_index", process, 0, sort_index=process)
    yield from (_meta("thread_name", process, thread, name=name) for thread, name in THREADS.items())
    end = timeline.sources[group.source].end
    for state in group.states:
        args = {"generation": state.generation, "members": state.members, "reason": state.reason, "cause": state.cause}
        yield _slice(process, STATES, state.state, state.since, state.until, end, args)
    for each in group.rounds:
        yield _slice(process, ROUNDS, each.title, each.began, each.ended, end, msgspec.to_builtins(each))
    yield from (_instant(process, EVENTS, each) for each in group.events)
    yield from _ownership(timeline, process, group)
    for thread, records in enumerate(group.records, FIRST_RECORDS):
        yield from _records(process, thread, records, end)
    for place, lane in enumerate(group.lanes):
        yield from _lane(timeline, process, FIRST_LANE + place, lane, end)


def _ownership(timeline: Timeline, process: int, group: Group) -> Iterator[Trace]:
    """Yield the ownership map, with a thread for each partition above the lanes of the members."""
    partitions = (row for row in map_rows(timeline, group) if row.kind == "partition")
    for thread, row in enumerate(partitions, FIRST_PARTITION):
        yield _meta("thread_name", process, thread, name=row.title)
        yield _meta("thread_sort_index", process, thread, sort_index=EVENTS)
        for each in row.items:
            name = each.owners if each.sign == OWNED else each.what
            yield _slice(process, thread, name, each.since, each.until, each.until, {"state": each.sign, "owners": each.owners})


def _records(process: int, thread: int, lane: RecordLane, end: int) -> Iterator[Trace]:
    """Yield the records of one partition that a member of a share group had, below the partitions."""
    yield _meta("thread_name", process, thread, name=f"{lane.partition} records, {lane.label}")
    yield _meta("thread_sort_index", process, thread, sort_index=EVENTS)
    for each in lane.spans:
        yield _slice(process, thread, each.records, each.since, each.until, end, {"records": each.number, "member_id": lane.member_id})
    yield from (_mark(process, thread, each.title, each.at, {"why": each.why}) for each in lane.events)


def _lane(timeline: Timeline, process: int, thread: int, lane: Lane, end: int) -> Iterator[Trace]:
    yield _meta("thread_name", process, thread, name=lane.label)
    yield _meta("thread_sort_index", process, thread, sort_index=thread)
    facts = {"member_id": lane.member_id, "client_id": lane.client_id, "instance": lane.instance, "library": lane.library}
    for band in lane.bands:
        yield _slice(process, thread, held_text(timeline, band.held), band.since, band.until, end, facts)
    for band in lane.standbys:
        told = f"stands by for {held_text(timeline, band.held)}"
        yield _mark(process, thread, told, band.since, facts)
    for life in lane.lives:
        yield _mark(process, thread, "joined", life.since, {"how": life.came, **facts})
        if life.until is not None:
            yield _mark(process, thread, "gone", life.until, {"how": life.gone, "cause": life.cause})
    yield from (_instant(process, thread, each) for each in lane.events)
    for number, mark in enumerate(lane.marks):
        yield from _request(timeline, process, thread, mark, f"{process}.{thread}.{number}")


def _request(timeline: Timeline, process: int, thread: int, mark: Mark, identity: str) -> Iterator[Trace]:
    result = timeline.texts[mark.result]
    name = APIS[mark.api] if result == OK else f"{APIS[mark.api]}: {result}"
    args = {
        "result": result, "latency_ms": mark.latency / 1e6, "count": mark.count, "row": mark.seq, "request": timeline.texts[mark.asked],
        "answer": timeline.texts[mark.answered],
    }  # fmt: skip
    if mark.count == 1 and mark.latency >= PARKED_NS:
        yield from _waited(process, thread, name, mark.at, mark.at + mark.latency, identity, args)
    else:
        yield _mark(process, thread, name if mark.count == 1 else f"{mark.count} x {name}", mark.at, args)


def _meta(what: str, process: int, thread: int, **args: Any) -> Trace:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": args}


def _slice(process: int, thread: int, name: str, since: int, until: int | None, end: int, args: Trace) -> Trace:
    lasted = max(0, (end if until is None else until) - since)
    return {"ph": "X", "name": name, "pid": process, "tid": thread, "ts": since / 1e3, "dur": lasted / 1e3, "args": args}


def _waited(process: int, thread: int, name: str, since: int, until: int, identity: str, args: Trace) -> Iterator[Trace]:
    shared = {"cat": "groupmock", "name": name, "id": identity, "pid": process, "tid": thread}
    yield {"ph": "b", "ts": since / 1e3, "args": args, **shared}
    yield {"ph": "e", "ts": until / 1e3, "args": {}, **shared}


def _mark(process: int, thread: int, name: str, at: int, args: Trace) -> Trace:
    return {"ph": "i", "s": "t", "name": name, "pid": process, "tid": thread, "ts": at / 1e3, "args": args}


def _instant(process: int, thread: int, event: Event) -> Trace:
    args: Trace = {"text": event.text, "count": event.count}
    if event.kind == "finding":
        args |= {"severity": event.severity, "rows": list(event.rows)}
    return _mark(process, thread, f"{event.kind}: {event.title}", event.at, args)
