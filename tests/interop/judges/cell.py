"""One row of the matrix: the checks of one client on one broker, in order; what each saw is compared between brokers."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .desk import Desk
from .telling import Mismatch

NOT_REACHED = "not reached: an earlier check failed"
NOTHING = "the check saw nothing that could be compared"
CHECKS = (
    "joins", "consumes", "commits", "back", "crash", "scales", "dies", "bounced", "resumes", "static", "regex", "upgrade", "aborts",
    "fenced", "timeout",
)  # fmt: skip


@dataclass
class Verdict:
    """`ok` is None where the client has no such thing; `saw` is the visible outcome; `seconds` the wall time; `why` if it failed."""

    ok: bool | None
    saw: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    why: str = ""


class Row:
    """Runs checks, keeps their verdicts; after a failure the others of the same `chain` are not reached."""

    def __init__(self, name: str, desk: Desk, folder: Path) -> None:
        self.name, self.desk, self.folder = name, desk, folder
        self.client = ""
        self.verdicts: dict[str, Verdict] = {}

    def check(self, name: str, run: Callable[[], dict[str, Any]], after: str | None = None) -> None:
        """Run one check; `after` names the check that must have passed."""
        if after is not None and not self.verdicts[after].ok:
            self.verdicts[name] = Verdict(False, why=NOT_REACHED)
            return
        began = time.monotonic()
        try:
            saw = run()
            self.verdicts[name] = Verdict(bool(saw), saw, time.monotonic() - began, "" if saw else NOTHING)
        except Mismatch as mismatch:
            self.verdicts[name] = Verdict(False, {}, time.monotonic() - began, str(mismatch))
        except Exception as failed:  # the harness or its client library: as red as the rest, with its name
            self.verdicts[name] = Verdict(False, {}, time.monotonic() - began, f"{type(failed).__name__}: {failed}")

    def without(self, name: str) -> None:
        """The client has no such thing."""
        self.verdicts[name] = Verdict(None)

    @property
    def good(self) -> bool:
        """Whether something was checked, and nothing is red."""
        oks = [each.ok for each in self.verdicts.values()]
        return True in oks and False not in oks


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder for logs and states; removed afterwards unless GROUPMOCK_INTEROP_KEEP is set."""
    where = Path(tempfile.mkdtemp(prefix="interop-"))
    try:
        yield where
    finally:
        if not os.environ.get("GROUPMOCK_INTEROP_KEEP"):
            shutil.rmtree(where, ignore_errors=True)
