"""The report of a search: one `SearchPart` each, as build/search/report.json and report.txt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

RAN: Final = "ran"
MISSING: Final = "missing"
FAILED: Final = "could not run"


@dataclass
class SearchPart:
    """The result of one part of a search. `reds` are the failures seen, `finds` the files that hold them, and `tail` the end of the
    output if the part failed."""

    name: str
    verdict: str = RAN
    did: list[str] = field(default_factory=list)
    seconds: float = 0.0
    finds: list[str] = field(default_factory=list)
    reds: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    tail: str = ""

    def failed(self, tail: str) -> SearchPart:
        """Mark the part of the search as failed, so that its result says nothing about the tree."""
        self.verdict, self.tail = FAILED, tail[-2000:]
        return self

    def lacks(self, what: str) -> SearchPart:
        """Note a missing tool that the search cannot install."""
        self.missing.append(what)
        if not self.did:
            self.verdict = MISSING
        return self


def text(parts: Sequence[SearchPart], about: dict[str, Any]) -> str:
    return "\n".join(_lines(parts, about)) + "\n"


def _lines(parts: Sequence[SearchPart], about: dict[str, Any]) -> Iterator[str]:
    yield "make search: " + ", ".join(f"{name} {value}" for name, value in about.items())
    for part in parts:
        yield ""
        yield f"{part.name}: {part.verdict}, {part.seconds:.0f} s, seen {len(part.reds)}, files written {len(part.finds)}"
        yield from (f"  {line}" for line in part.did)
        yield from (f"  MISSING: {line}" for line in part.missing)
        yield from (f"  FIND: {line}" for line in part.finds)
        yield from (f"  SEEN: {line}" for line in part.reds)
        yield from (f"  | {line}" for line in part.tail.splitlines())


def write(folder: Path, parts: Sequence[SearchPart], about: dict[str, Any]) -> str:
    """Write the report of a search as JSON and as text, and return the text."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {**about, "parts": [asdict(part) for part in parts]}
    (folder / "report.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    written = text(parts, about)
    (folder / "report.txt").write_text(written, encoding="utf-8")
    return written
