"""Writes a JSON line about each comparison with Kafka's classes into the file that GROUPMOCK_JUDGE_LOG names. docs/proof/fidelity.md is
made from it."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Compared(Protocol):
    """A message that was compared with Kafka."""

    @property
    def kind(self) -> str:
        """Kafka's name of the message's type."""

    @property
    def version(self) -> int: ...


def tell(what: str, release: str, seed: int, cases: Sequence[Compared]) -> None:
    """Write a line about a comparison if a log is requested. Only a comparison without a difference gets here."""
    log = os.environ.get("GROUPMOCK_JUDGE_LOG")
    if not log:
        return
    line = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "what": what,
        "release": release,
        "seed": seed,
        "messages": len(cases),
        "types_and_versions": len({(case.kind, case.version) for case in cases}),
        "types": len({case.kind for case in cases}),
    }
    with Path(log).open("a") as out:
        out.write(json.dumps(line) + "\n")
