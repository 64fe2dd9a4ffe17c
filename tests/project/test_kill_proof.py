"""The proof that kills pipeline writers has a reader that accepts a commit between its reads of two tables, and ends cleanly."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from cases import for_each

from tools.pipeline_proof.kills import AFTER, BEFORE, BETWEEN, NEITHER, TURN, Trial, View, onlooker, which

OLD: Final = {"a": {"runs": "1", "rows": "2"}, "b": {"runs": "3"}}
NEW: Final = {"a": {"runs": "4", "rows": "5"}, "b": {"runs": "6", "quarantine": "7"}}


def view(files: dict[str, dict[str, str]], **more: Any) -> View:
    return {"runs": [str(files), "0"], "rebalances": ["0", "0"], "ledger": 0, "files": files} | more


SEEN: Final = {
    "as it was": (view(OLD), BEFORE, BEFORE),
    "as it will be": (view(NEW), AFTER, AFTER),
    "one file of each": (view({"a": NEW["a"], "b": OLD["b"]}), BETWEEN, BETWEEN),
    "one table of each, of one file": (view({"a": {"runs": "1", "rows": "5"}, "b": OLD["b"]}), NEITHER, TURN),
    "what the ledger does not have": (view({"a": OLD["a"], "b": {"runs": "3", "quarantine": "7"}}, ledger=1), NEITHER, TURN),
    "a table of a file as it never was": (view({"a": {"runs": "1", "rows": "6"}, "b": OLD["b"]}), NEITHER, NEITHER),
    "a file that never was": (view({**OLD, "c": {"rows": "1"}}), NEITHER, NEITHER),
    "another table as it never was": (view({"a": NEW["a"], "b": OLD["b"]}, rebalances=["1", "1"]), NEITHER, NEITHER),
    "an error": ({"error": "OutOfMemoryError"}, NEITHER, NEITHER),
}


@for_each("seen, at_rest, in_turn", SEEN.values(), ids=SEEN)
def test_what_was_seen(seen: View, at_rest: str, in_turn: str) -> None:
    trial = Trial("", Path(), (), view(OLD), view(NEW))
    assert which(seen, trial).startswith(at_rest)
    assert which(seen, trial, mixed=True).startswith(in_turn)


def test_a_reader_that_is_no_longer_asked_leaves_no_pipe_open() -> None:
    """pytest reports an unclosed pipe as an error, so the short kill run of `make live` would fail."""
    with onlooker([sys.executable, "-c", "import sys; print('\"ready\"', flush=True); sys.stdin.read()"]) as reader:
        pipes = (reader.process.stdin, reader.process.stdout)
    assert reader.process.returncode == 0
    assert [pipe is not None and pipe.closed for pipe in pipes] == [True, True]
