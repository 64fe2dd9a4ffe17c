"""Write the page about bad bytes: reactions of Kafka and groupmock to hostile inputs, as `python -m tools.fidelity bytes --record` saw
them."""

from __future__ import annotations

import json
from typing import Any, Final

from tools.records import RECORDS

from .markdown import cell, notice, table

NOTICE: Final = notice("bad_bytes", "bad-bytes.json")
RELEASES: Final[tuple[str, ...]] = ("4.3", "3.9")
SAME: Final = "the same"

Json = Any

ABOUT = """\
Valid requests of every API and version that groupmock advertises are changed in one place or sent in an unusual way. Each of these
inputs is sent on its own connection, once to Apache Kafka and once to groupmock with the profile of that release. The answers are
compared field by field, except for random ids, ports and what other inputs left on the shared broker. A valid request after each input
shows whether the connection is still open.

| word | means |
|---|---|
| answered | the input was answered like any request (mostly with an error code), and so was the valid request after it |
| closed | the connection was closed without an answer to the input |
| answered, then closed | the input was answered; the bytes after it were no request, and the connection was closed |
| no answer, goes on | Produce with acks=0 has no answer; the valid request after it was answered |
| mute | neither the input nor the valid request after it is answered; the connection stays open |

One class of inputs may have several reactions: a changed length closes the connection in one place, and in another it gives a shorter name.

```text
python -m tools.fidelity bytes --release 4.3 --broker HOST:PORT --seeds 0 6000 --record
```

This command of `tools.fidelity` records the data of the page again (the broker needs `auto.create.topics.enable=false`,
`group.initial.rebalance.delay.ms=400` and `group.min.session.timeout.ms=100`). Some inputs of every class are kept with Kafka's reaction in
tests/golden/hostile-RELEASE.jsonl.gz; `make test` plays them again through our connection code."""


def text() -> str:
    return page(json.loads((RECORDS / "bad-bytes.json").read_text()))


def page(data: dict[str, Json]) -> str:
    releases = [release for release in RELEASES if release in data]
    lines = [NOTICE, "# Bad bytes", "", ABOUT, "", "## The runs", "", *_runs(data, releases), "", "## The table", ""]
    names = sorted({name for release in releases for name in data[release]["classes"]})
    head = ["input", *(f"Kafka {data[release]['broker']}" for release in releases), "groupmock"]
    lines += table(head, (_row(name, [data[release]["classes"].get(name) for release in releases]) for name in names))
    lines += ["", "## What differs", "", *_known(data, releases)]
    return "\n".join(lines) + "\n"


def _runs(data: dict[str, Json], releases: list[str]) -> list[str]:
    rows = []
    for release in releases:
        classes = data[release]["classes"]
        inputs, different = (sum(one[what] for one in classes.values()) for what in ("inputs", "different"))
        rows.append([data[release]["broker"], str(inputs), str(len(classes)), str(different)])
    return table(["broker", "inputs", "classes", "different reactions"], rows)


def _row(name: str, found: list[Json]) -> list[str]:
    return [cell(name), *map(_reactions, found), _ours(found)]


def _reactions(found: Json) -> str:
    """Format reactions, the most frequent first, and a single one without its count."""
    if found is None:
        return "not met"
    kinds = sorted(found["kafka"].items(), key=lambda one: (-one[1], one[0]))
    return kinds[0][0] if len(kinds) == 1 else ", ".join(f"{kind} ({count})" for kind, count in kinds)


def _ours(found: list[Json]) -> str:
    different = sum(one["different"] for one in found if one is not None)
    return f"{different} otherwise, see below" if different else SAME


def _known(data: dict[str, Json], releases: list[str]) -> list[str]:
    lines = []
    for release in releases:
        for name, found in sorted(data[release]["classes"].items()):
            if found["different"]:
                many = f"{found['different']} of {found['inputs']}"
                lines.append(f"- {data[release]['broker']}, {name}: {many}; recorded_differences.toml says why, or it did not come again.")
    return lines or ["Nothing."]
