"""Writes docs/bad-bytes.md from tools/records/bad-bytes.json: hostile inputs by class, how Kafka reacted and how groupmock did.

The data comes from `python -m tools.fidelity bytes --record .` against a broker; a test compares page and data.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tools.records import RECORDS

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
NOTICE: Final = "<!-- written by tools/pages/bad_bytes_page.py (`make docs`) from tools/records/bad-bytes.json: do not edit -->"
RELEASES: Final[tuple[str, ...]] = ("4.3", "3.9", "2.8")
SAME: Final = "the same"

Json = Any

ABOUT = """\
Valid requests of every API and version that groupmock advertises, spoiled in one place or sent in an odd way, each on a connection of its
own: once to Apache Kafka and once to groupmock as that release. Compared are the answers, field by field (drawn ids, ports and what other
inputs left on the shared broker apart), and what becomes of the connection, which a last good request shows.

| word | means |
|---|---|
| answered | the input was answered like any request (with an error code, mostly), and so was the request behind it |
| closed | the connection was closed without an answer to it |
| answered, then closed | bytes behind it were no request |
| no answer, goes on | Produce with acks=0: there is none, and the request behind it is answered |
| mute | it is never answered, nor is what comes behind it; the connection stays open |

One class may have several reactions: a length that is cut in one place closes the connection, in another it makes a shorter name.

    python -m tools.fidelity bytes --release 4.3 --broker HOST:PORT --seeds 0 6000 --record .

makes the data again (the broker needs `auto.create.topics.enable=false`, `group.initial.rebalance.delay.ms=400` and
`group.min.session.timeout.ms=100`). Some inputs of every class are kept with Kafka's reaction in tests/golden/hostile-RELEASE.jsonl.gz;
`make test` plays them again through our connection code."""


def page(data: dict[str, Json]) -> str:
    """The page."""
    releases = [release for release in RELEASES if release in data]
    lines = [NOTICE, "# Bad bytes", "", ABOUT, "", "## The runs", "", *_runs(data, releases), "", "## The table", ""]
    names = sorted({name for release in releases for name in data[release]["classes"]})
    lines += _row(["input", *(f"Kafka {data[release]['broker']}" for release in releases), "groupmock"])
    lines += _row(["---"] * (len(releases) + 2))
    for name in names:
        cells = [data[release]["classes"].get(name) for release in releases]
        lines += _row([_cell(name), *(_reactions(cell) for cell in cells), _ours(cells)])
    lines += ["", "## What differs", "", *_known(data, releases)]
    return "\n".join(lines) + "\n"


def _runs(data: dict[str, Json], releases: list[str]) -> list[str]:
    lines = [*_row(["broker", "inputs", "classes", "different reactions"]), *_row(["---"] * 4)]
    for release in releases:
        classes = data[release]["classes"]
        inputs, different = (sum(one[what] for one in classes.values()) for what in ("inputs", "different"))
        lines += _row([data[release]["broker"], str(inputs), str(len(classes)), str(different)])
    return lines


def _reactions(cell: Json) -> str:
    """The most frequent first; a lone one without its number."""
    if cell is None:
        return "not met"
    found = sorted(cell["kafka"].items(), key=lambda one: (-one[1], one[0]))
    return found[0][0] if len(found) == 1 else ", ".join(f"{kind} ({count})" for kind, count in found)


def _ours(cells: list[Json]) -> str:
    different = sum(cell["different"] for cell in cells if cell is not None)
    return f"{different} otherwise, see below" if different else SAME


def _known(data: dict[str, Json], releases: list[str]) -> list[str]:
    lines = []
    for release in releases:
        for name, cell in sorted(data[release]["classes"].items()):
            if cell["different"]:
                many = f"{cell['different']} of {cell['inputs']}"
                lines.append(f"- {data[release]['broker']}, {name}: {many}; recorded_differences.toml says why, or it did not come again.")
    return lines or ["Nothing."]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _row(cells: list[str]) -> list[str]:
    return ["| " + " | ".join(cells) + " |"]


def main() -> None:
    """Write it."""
    data = json.loads((RECORDS / "bad-bytes.json").read_text())
    (DOCS / "bad-bytes.md").write_text(page(data))


if __name__ == "__main__":
    main()
