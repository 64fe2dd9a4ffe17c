"""Write the page with the ratios of the benchmarks, commit by commit, as `python -m benchmarks --record` kept them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.measurements import number
from benchmarks.targets import TARGETS

from tools.records import RECORDS

from .markdown import notice, table

COLUMNS = {
    "storm.cpu": "storm, warm / floor",
    "storm.cold": "storm, cold / warm",
    "memory.member": "kB a member",
    "heartbeats.echo.1000x1": "1,000 connections / echo",
    "heartbeats.echo.100x1": "100 connections / echo",
    "heartbeats.echo.1x64": "64 in flight / echo",
    "startup.ready": "start / uvloop",
    "startup.first": "first join / hundredth",
}
"""The figures of the table, with their headings."""
PAUSES = {
    "storm.pause": "join storm",
    "pauses.classic": "classic group",
    "pauses.consumers": "consumer group",
    "pauses.mixed": "different subscriptions",
    "shares.pause": "share group",
    "shares.pause.records": "records in flight",
    "shares.pause.closed": "share group closed",
    "streams.pause": "streams group",
    "streams.pause.described": "streams group described",
}
"""The figures of the table about pauses."""
SHARES = {
    "shares.heartbeats": "heartbeats / echo",
    "shares.fetch": "ShareFetch / Fetch",
    "shares.memory": "B a record, in batches",
    "shares.memory.apart": "B a record, apart",
}
"""The figures of the table about share groups."""
SECURED = {
    "secured.echo.100x1": "TLS, 100 connections / echo",
    "secured.echo.1x64": "TLS, 64 in flight / echo",
    "secured.start": "start before / now",
    "secured.lease": "repeated heartbeats before / now",
    "secured.full": "other heartbeats before / now",
    "secured.rounds": "rounds before / now",
}
"""The figures of the table about listeners."""


TRIED = (
    ("Pipelined heartbeats of one read compared at once, by slices with a step", "a read of 64 takes 3 us instead of 22; kept"),
    ("A repeated heartbeat compared by one concatenation, equal heads shared", "0.28 us instead of 0.38 more than the echo; kept"),
    ("CPU per request counted from the end of the warm-up", "before, connecting was a part of the figure of 1,000 connections; kept"),
    ("Rows built with at most 15 arguments by name", "7 % less CPU in a storm whose rows are kept in memory; kept"),
    ("Answers of one slice made first, then written together", "116 us a member instead of 102 on a busy machine; taken out"),
    ("The check of protocols as a loop, Java hashes by table, fewer calls at a session's begin", "A/B 0.9997 of a storm; taken out"),
    ("Unreported heartbeats counted only while a sink asks for them", "15 ns of 7,300; taken out"),
    ("A rehearsal of JoinGroup before the ready line", "5.6 instead of 6.4 times the hundredth, the start 6 ms later; taken out"),
    (
        "The first JoinGroup, call by call: no import, no compilation, at most one page fault",
        "300 us, of which the new group is 10 and the rest is 160 functions that run for the first time; nothing to build",
    ),
    ("The step of a consumer-group member with 10,000 partitions, small ints sorted at once, then divided", "5 ms instead of 21; kept"),
    (
        "Decoders of JoinGroup and SyncGroup that cost nothing (a look-up of the frame), before building flat ones",
        "36 us a member instead of 41 without sockets, which bounds what flat ones gain; not built",
    ),
    (
        "Answers of repeated heartbeats of one turn written together, across connections",
        "0.91 instead of 0.86 of the echo with 100 connections, but in 3 of 5 pairs only; 0.72 instead of 0.85 with 1,000; taken out",
    ),
    (
        "Objects that members repeat shared, empty sets and the map of tickets emptied, memory given back when a storm has settled",
        "3.4 kB a member instead of 3.7; kept",
    ),
    (
        "Modules that others have imported no longer paused for, as the benchmark took the pause for the end of the warm-up",
        "3.7 kB a member instead of 4.2: 60 modules were counted as the members' memory; kept",
    ),
    ("Descriptions of groups in steps, codecs of all group types compiled ahead", "a pause of 12 ms instead of 24; kept"),
)
"""Changes that were tried on 2026-11-29, and what they gave."""


def text() -> str:
    return page(json.loads((RECORDS / "speed.json").read_text(encoding="utf-8")))


def page(entries: list[dict[str, Any]]) -> str:
    """Return the text of the page. An entry has a commit, its time, and for each figure the median and the number of rounds."""
    lines = [
        notice("speed", "speed.json"),
        "# Speed, commit by commit",
        "",
        "This page has ratios of groupmock's benchmarks, each measured inside one run: the CPU of the server against that of a peer that",
        "does the least possible work on the same core, in rounds that alternate. A cell is the median, with the number of rounds in",
        "brackets; a dash means that the figure was not measured at that commit. The commands are in",
        "[benchmarks/README.md](https://github.com/groupmock/groupmock/blob/main/benchmarks/README.md).",
        "",
        "| column | what is divided | aim |",
        "|---|---|---|",
        *_part(entries, COLUMNS),
        "## Pauses",
        "",
        "The longest stretch of CPU, in ms, in which the server touched no socket although a bystander asked for ApiVersions every",
        "millisecond. Until commit `96176605` there was no bystander, so that the slices of work at the end of a phase counted as one.",
        "",
        "| column | what is measured | aim |",
        "|---|---|---|",
        *_part(entries, PAUSES),
        "## Share groups",
        "",
        "| column | what is measured | aim |",
        "|---|---|---|",
        *_part(entries, SHARES),
        "## Listeners",
        "",
        "Heartbeats over TLS against asyncio's TLS before constant answers; and the last build before listeners could be named against the",
        "present one, if no listener is named.",
        "",
        "| column | what is divided | aim |",
        "|---|---|---|",
        *_part(entries, SECURED),
        "## Tried on 2026-11-29",
        "",
        "Each change was compared with the build before it in pairs that alternate, on a machine that had other work.",
        "",
        *table(["change", "what it gave"], TRIED),
        "",
    ]
    return "\n".join(lines)


def _aim(key: str) -> str:
    target = TARGETS[key]
    return f"{'at least' if target.higher_is_better else 'at most'} {number(target.moonshot)}"


def _part(entries: list[dict[str, Any]], columns: dict[str, str]) -> Iterator[str]:
    """Yield the meaning of the columns, and the table of the commits that have some of them."""
    yield from (f"| {heading} | {TARGETS[key].what} | {_aim(key)} |" for key, heading in columns.items())
    yield ""
    yield from table(["commit", "measured", *columns.values()], _rows(entries, columns))
    yield ""


def _rows(entries: list[dict[str, Any]], columns: dict[str, str]) -> Iterator[list[str]]:
    for entry in entries:
        cells = [entry["medians"].get(key) for key in columns]
        if any(cells):
            yield [f"`{entry['commit']}`", entry["at"][:10], *("-" if cell is None else f"{number(cell[0])} ({cell[1]})" for cell in cells)]
