"""Write the page of the control API: its routes, their bodies and queries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

from groupmock.control.arrivals import MAX_WAITS
from groupmock.control.record_calls import MOST_BYTES
from groupmock.control.route import JSON_LINES, Route
from groupmock.control.routes import ROUTES
from groupmock.control.visitor import MAX_VISITORS, PATIENCE
from groupmock.faults.plan import MAX_RULES
from groupmock.text.bounded import MAX_BYTES, MAX_DEPTH, MAX_PARTS

from .markdown import cell, notice, table

CONTROL = """
`groupmock serve --control PORT` (or `run --control PORT`) serves the control API beside the cluster, on loopback; port
0 picks a free one. The ready line of `serve` has the URL as `control`. The API needs the extra `control`
([install](../start/first-steps.md#install)). With
`--token TOKEN` every request must carry `Authorization: Bearer TOKEN`; on any address but loopback a token is required. A list of the
machine's processes
shows flags; `GROUPMOCK_TOKEN`, or `token` in the file of `--config`, keeps the token secret. It is printed nowhere. Requests from web
pages of other sites (`Origin`, `Sec-Fetch-Site`, `Host`) are refused, whatever their method.

Bodies and answers are JSON; times are milliseconds, the `timeout` of a wait seconds, `t` of rows nanoseconds
since the start. A refused request gets one sentence, `{"error": ...}`, and changes nothing: 400 the request is wrong,
401 no token, 403 a page of another site asks, 404 unknown name (the sentence lists the known ones), 405 the path takes
another method, 408 the wait timed out, 409 impossible in the current state, 413 the body is too large, 415 the body is
compressed, 503 too many waits.

Requests are bounded, because the API shares a thread with Kafka's port: a body has at most BYTES bytes (one of
JSON Lines LINES MiB) and is not compressed; its JSON or TOML is at most DEPTH deep, a key of TOML has at most PARTS parts; RULES fault
rules
are registered at a time, 100 texts of 300 characters in one condition. A request must be complete HALF s after its first byte. A connection
is closed if it is idle for IDLE s, or if its answer is not read for UNREAD s; VISITORS connections are served at a
time, of which WAITS may wait for rows. A wait costs other clients almost nothing; it ends when its client closes the connection.

A command returns `{"seq": N}`, the number of its row in the journal. Its effects are later rows, so
`/v1/journal/wait?since=N&...` waits for an effect. Journal queries read the rows in memory: the last 8 MiB, without
heartbeats that changed nothing. `/openapi.json` describes the whole API for programs; the verbs `groupmock topic`, `group`, `faults`,
`transaction`, `cluster`, `records` and `journal` are the same routes as commands, with `--control URL` or the variable
`GROUPMOCK_CONTROL_URL`. In a container: `--control 0.0.0.0:9093 --token TOKEN`, and publish the port.

In process, `Broker(control=0).control` is the URL, and `Broker` and the fixture `groupmock` have the same commands as
[methods](python.md).
""".strip()


BOUNDS = {
    "BYTES": MAX_BYTES, "LINES": MOST_BYTES >> 20,
    "DEPTH": MAX_DEPTH, "PARTS": MAX_PARTS, "RULES": MAX_RULES, "HALF": PATIENCE.half, "IDLE": PATIENCE.idle,
    "UNREAD": PATIENCE.unread, "VISITORS": MAX_VISITORS, "WAITS": MAX_WAITS,
}  # fmt: skip


def text() -> str:
    about = re.sub("|".join(rf"\b{name}\b" for name in BOUNDS), lambda name: f"{BOUNDS[name[0]]:.6g}", CONTROL)
    lines = [notice("control"), "# The control API", "", about, "", "## Routes", ""]
    rows = ([f"`{route.method} {route.full_path}`", _verb(route), cell(route.about)] for route in ROUTES)
    lines += table(["route", "command", "what it does"], rows)
    lines += ["", "## Bodies and queries", ""]
    for route in ROUTES:
        what = "the rule" if route.path == "/faults" else "the plan"
        rules = route.text and route.media != JSON_LINES
        body = [[what, "body", "see [fault rules](../how-to/faults.md)"]] if rules else []
        place = "line" if route.media == JSON_LINES else "body"
        if fields := [*(body or _route_fields(route.body, place)), *_route_fields(route.query, "query")]:
            lines += [f"### `{route.method} {route.full_path}`", "", *table(["field", "in", "meaning"], iter(fields)), ""]
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
        yield [f"`{field.encode_name}`" + ("" if field.required else " (may lack)"), place, cell(shown)]
