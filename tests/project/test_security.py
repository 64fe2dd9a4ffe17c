"""Each promise of SECURITY.md cites the tests that prove it, and these tests exist."""

from __future__ import annotations

import re
from pathlib import Path

from cases import for_each

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = [item for part in TEXT.split("\n## ")[1:] for item in re.split(r"^- ", part, flags=re.MULTILINE)[1:]]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_there_are_promises() -> None:
    assert len(PROMISES) > 10


@for_each("promise", PROMISES, ids=[" ".join(item.split()[:6]) for item in PROMISES])
def test_a_promise_has_a_test(promise: str) -> None:
    named = NAMED.findall(promise)
    assert named, "no test is named beside it"
    for path, name in named:
        defined = re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert defined, f"{path} has no {name}"
