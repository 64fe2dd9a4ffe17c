"""Write a finding to a file: the shrunk plan, the failure, and its story. `make test` plays every file of tests/found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .plan import SimulationPlan, case_of
from .shrink import TRIES, shrunk
from .simulate import Outcome, play

PROPERTY: Final = "simulation"
DIGITS: Final = 10


def made_small(outcome: Outcome, tries: int = TRIES) -> Outcome:
    """Return the outcome of the smallest plan found with which the same judge reports a finding."""
    judge = outcome.finding.judge if outcome.finding is not None else None

    def fails(plan: SimulationPlan) -> bool:
        finding = play(plan, thorough=True).finding
        return finding is not None and finding.judge == judge

    return play(shrunk(outcome.plan, fails, tries), thorough=True)


def as_find(outcome: Outcome, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a finding's file. `about` says when, by whom, and in which version. Raises ValueError if nothing was found."""
    if outcome.finding is None:
        raise ValueError(f"seed {outcome.plan.seed} holds")
    failure = f"{outcome.finding.judge}: {outcome.finding.text}"
    found = {**about, "seed": outcome.plan.seed}
    return {"property": PROPERTY, "case": case_of(outcome.plan), "failure": failure, "story": outcome.story, "found": found}


def write(folder: Path, find: Mapping[str, Any]) -> Path:
    """Write the file of a finding and return the file's path, which is the same for the same case."""
    text = json.dumps({"property": find["property"], "case": find["case"]}, sort_keys=True)
    file = folder / f"{PROPERTY}-{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}.json"
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(json.dumps(find, indent=1) + "\n", encoding="utf-8")
    return file
