"""Writes the pages under docs/ that come from the program: settings, journal rows, states of a group, the control API,
and from recorded runs: fidelity, scenarios. A test compares them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from groupmock import profiles
from groupmock.config import OPTIONS, all_settings
from groupmock.control.route import Route
from groupmock.core.group.states import ANSWERS, MAY_FOLLOW, Ask, State
from groupmock.core.settings import Quirks
from groupmock.journal.rows import KINDS, ROWS, Header, documentation
from groupmock_codec.errors import ErrorCode
from tools.records import RECORDS

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTICE = "<!-- written by tools/pages/docs_pages.py (`make docs`): do not edit -->"

BOUNDS = """The default profile bounds what a long run keeps: 64 MiB per partition (`log.retention.bytes`) and 1 GiB of requests that wait
(`queued.max.request.bytes`); DescribeConfigs shows both as changed settings. The profiles of Kafka's releases have
Kafka's values, which are no bound: records stay until the process ends, their topic is deleted or DeleteRecords drops them. groupmock
drops nothing by age (Kafka would after seven days). To write much with such a profile, bound it: `--set log.retention.bytes=...`, or while
it runs IncrementalAlterConfigs of a topic or a broker, or a `retention.bytes` per topic.

Every other config of Kafka's brokers is described and can be altered as that release does (340 on 4.3):
[differences](../kafka/differences.md) says what follows from a change."""


def settings_page() -> str:
    """Every option and knob, and what each profile changes."""
    lines = [
        NOTICE,
        "# Settings",
        "",
        "Profile < TOML file < environment < flags. `groupmock config` shows each value and where it came from.",
        "",
    ]
    lines += ["## groupmock's own options", "", *_table(["option", "default", "what it does"], _options()), ""]
    lines += ["## Kafka's settings", ""]
    lines += [
        "`--set KEY=VALUE`, the TOML table `[set]`, or `GROUPMOCK_SET_<KEY>` with dots as underscores. Times are ms, sizes bytes.",
        "",
    ]
    lines += _table(["setting", "default", "takes", "what it does"], _knobs())
    lines += ["", BOUNDS]
    for name in profiles.names():
        lines += ["", *_profile(name)]
    return "\n".join(lines) + "\n"


def _options() -> Iterator[list[str]]:
    for option in OPTIONS:
        default = "" if option.default in (None, ()) else f"`{option.default}`"
        yield [f"`--{option.name} {_cell(option.metavar)}`", default, _cell(option.about)]


def _knobs() -> Iterator[list[str]]:
    for name, setting in sorted(all_settings().items()):
        default = str(setting.default).lower() if setting.kind is bool else setting.default
        yield [f"`{name}`", f"`{default}`", setting.takes, _cell(setting.knob.about)]


def _profile(name: str) -> list[str]:
    profile = profiles.load(name)
    lines = [f"## Profile `{name}`", "", profile.about]
    lines += [f"\nSettings: {', '.join(f'`{key}={value}`' for key, value in profile.settings.items())}."] if profile.settings else []
    ordered = [quirk for quirk in Quirks.__struct_fields__ if quirk in profile.quirks]
    lines += (
        [f"\nQuirks (`groupmock.core.settings.Quirks` says what each is): {', '.join(f'`{quirk}`' for quirk in ordered)}."]
        if ordered
        else []
    )
    return lines


def journal_page() -> str:
    """The header and every kind of row."""
    lines = [NOTICE, "# The journal, version 1", ""]
    lines += ["JSON Lines: a header, then rows. Fields at their default are left out; bytes are base64; unknown kinds are to be kept.", ""]
    lines += ["## Header", "", *_table(["field", "meaning"], _fields(Header))]
    for kind in KINDS:
        about = (ROWS[kind].__doc__ or "").strip()
        lines += [
            "",
            f"## `{kind}`",
            "",
            about,
            "",
            *_table(["field", "meaning"], ([f"`{n}`", _cell(t)] for n, t in documentation(kind).items())),
        ]
    return "\n".join(lines) + "\n"


def _fields(declared: type) -> Iterator[list[str]]:
    from typing import get_type_hints

    hints = get_type_hints(declared, include_extras=True)
    for name in declared.__struct_fields__:  # type: ignore[attr-defined]  # a msgspec.Struct
        yield [f"`{name}`", _cell(hints[name].__metadata__[0].description)]


def states_page() -> str:
    """The state table that the coordinator dispatches on."""
    lines = [NOTICE, "# States of a group", "", "The coordinator answers from these two tables; tests and this page read the same.", ""]
    lines += [
        "## What may follow",
        "",
        *_table(["state", "next"], ([str(s), ", ".join(sorted(map(str, MAY_FOLLOW[s]))) or "nothing"] for s in State)),
    ]
    asked = [state for state in State if any(state is row for row, _ in ANSWERS)]
    rows = ([_cell(str(ask)), *(_answer(state, ask) for state in asked)] for ask in Ask)
    lines += ["", "## What is done and answered", "", STATES, "", *_table(["asked", *map(str, asked)], rows)]
    return "\n".join(lines) + "\n"


STATES = """
Error codes are Kafka's; *renews* means that the member's session starts again. A dash: an Empty group has no members, so that nobody can
ask this; a stale member id gets 25 before the state is looked at. A JoinGroup that starts a rebalance, or comes while one
collects, waits until the join phase ends. A group that is Dead is gone: nobody finds it.
""".strip()


def _answer(state: State, ask: Ask) -> str:
    answer = ANSWERS.get((state, ask))
    if answer is None:
        return "-"
    error = f", {answer.error} {ErrorCode(answer.error).name}" if answer.error else ""
    return f"{answer.do.value}{error}{', *renews*' if answer.renews else ''}"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _table(head: list[str], rows: Iterator[list[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


FIDELITY = """
Generated exchanges, the same on Apache Kafka and on groupmock's core, compared answer by answer and field by field: every list order,
the choice of leaders, echoed ids, and when an answer came. A difference counts when it repeats in three plays of three. How it is done
and how to run it again, against Kafka or another broker: [differential.md](differential.md); what stock clients make of both:
[clients.md](clients.md); whether the check would notice a mistake: [mutations.md](mutations.md); hostile bytes:
[bad-bytes.md](bad-bytes.md).
""".strip()


def fidelity_page() -> str:
    """The log of the differential runs and of the codec's judge."""
    from tools.pages.fidelity_page import codec_runs, page, results

    runs, codec = results(RECORDS / "fidelity.jsonl"), codec_runs(RECORDS / "codec.jsonl")
    return page(runs, codec, "Fidelity", FIDELITY)


def scenarios_page() -> str:
    """What `groupmock scenario table --json` measured."""
    from tools.pages.scenarios_page import page

    return page(RECORDS)


CONTROL = """
`groupmock serve --control PORT` (or `run --control PORT`) serves it beside the cluster, on loopback; port 0 picks a free one. The line that
`serve` prints when it is ready has the URL as `control`. It needs the extra `control`: `pip install 'groupmock[control]'`. With
`--token TOKEN` every request must carry `Authorization: Bearer TOKEN`; on any address but loopback a token is required. Requests
that a web page of another site makes (`Origin`, `Host`) are refused.

Bodies and answers are JSON; times are milliseconds, `t` of rows nanoseconds since the start. What cannot be done is answered with one
sentence, `{"error": ...}`, and nothing is changed: 400 something in the request is wrong, 401 no token, 404 there is no such thing (the
sentence says what there is), 405 the path takes another method, 408 what was waited for did not happen in time, 409 it is not in a state
in which that can be done.

A command answers `{"seq": N}`, the number of its row in the journal. What it causes is written in later rows, so
`/v1/journal/wait?since=N&...` waits for an effect. Journal queries see the rows that are kept in memory: the last 8 MiB, without
heartbeats that changed nothing. `/openapi.json` describes all of it to machines; the verbs `groupmock topic`, `group`, `faults`,
`cluster` and `journal` are the same routes as commands, with `--control URL` or the variable `GROUPMOCK_CONTROL_URL`. In a
container: `--control 0.0.0.0:9093 --token TOKEN`, and publish the port.

In process, `Broker(control=0).control` is the URL, and `Broker` and the fixture `groupmock` have the same as methods: `create_topic`,
`grow_topic`, `delete_topic`, `hold`, `release`, `expire`, `fence`, `rebalance`, `choose_leader`, `order_joins`, `complete_delay`, `freeze`,
`thaw`, `move_coordinator`, `unload_coordinator`, `move_leader`, `stop_node`, `start_node`, `stall_node`, `step`, `jump_timer`, `wait_for`;
`hold`, `freeze` and `stall_node` may be used with `with`; then they end with the block.
""".strip()


def control_page() -> str:
    """The table of routes of the control API."""
    from groupmock.control.routes import ROUTES

    lines = [NOTICE, "# The control API", "", CONTROL, "", "## Routes", ""]
    rows = ([f"`{route.method} {route.full_path}`", _verb(route), _cell(route.about)] for route in ROUTES)
    lines += _table(["route", "command", "what it does"], rows)
    lines += ["", "## Bodies and queries", ""]
    for route in ROUTES:
        text = "the rule" if route.path == "/faults" else "the plan"
        body = [[text, "body", "see [fault rules](../how-to/faults.md)"]] if route.text else []
        if fields := [*(body or _route_fields(route.body, "body")), *_route_fields(route.query, "query")]:
            lines += [f"### `{route.method} {route.full_path}`", "", *_table(["field", "in", "meaning"], iter(fields)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _verb(route: Route) -> str:
    return f"`groupmock {' '.join(route.verb)}`" if route.verb else ""


def _route_fields(struct: type[msgspec.Struct], place: str) -> Iterator[list[str]]:
    properties = msgspec.json.schema(struct)["$defs"][struct.__name__]["properties"]
    for field in msgspec.structs.fields(struct):
        known = properties[field.encode_name]
        about = known.get("description", "")
        default = known.get("default")
        shown = f"{about} (default {json.dumps(default)})" if default not in (None, "", {}, []) else about
        yield [f"`{field.encode_name}`" + ("" if field.required else " (may lack)"), place, _cell(shown)]


PAGES: dict[str, Callable[[], str]] = {
    "reference/settings.md": settings_page,
    "reference/journal.md": journal_page,
    "reference/states.md": states_page,
    "proof/fidelity.md": fidelity_page,
    "proof/scenarios.md": scenarios_page,
    "reference/control.md": control_page,
}


def main() -> int:
    """Write every page; says which changed."""
    for name, make in PAGES.items():
        old = (DOCS / name).read_text() if (DOCS / name).exists() else ""
        (DOCS / name).write_text(make())
        print(f"docs/{name}: {'unchanged' if old == make() else 'written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
