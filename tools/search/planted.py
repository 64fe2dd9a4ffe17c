"""Measure which seed of the simulation finds each mistake planted in a copy of the sources (tests/mutations/simulation.toml), and how soon.

    python -m tools.search planted --seconds 900        all of them, each for its share of the time; writes tools/records/simulation.json
    python -m tools.search planted --seconds 60 -- NAME NAME        these again
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.mutations.judging import SOURCES, snapshot
from tools.mutations.planted import Mutation, plant
from tools.records import save
from tools.runs import ROOT, ended

from .report import SearchPart
from .simulation import RECORD
from .suite import SearchRequest

NAME: Final = "planted"
LIST: Final = ROOT / "tests/mutations/simulation.toml"
ABOUT: Final = ("protocol", "history", "bytes", "replay", "defect", "work", "memory", "fairness", "liveness")
STEPS: Final = 14
"""The number of rows of a story that the record keeps."""


@dataclass(frozen=True)
class Planted:
    """A planted mistake, its subject (one of ABOUT), and the kind of simulation that looks for it, or None to let the seed decide."""

    mutation: Mutation
    about: str
    kind: str | None


def load(path: Path = LIST) -> list[Planted]:
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    found = []
    for name, entry in listed.items():
        about, kind = entry.pop("about"), entry.pop("kind", None)
        found.append(Planted(Mutation(name=name, **entry), about, kind))
    return found


def search(wanted: SearchRequest) -> SearchPart:
    """Hunt each mistake for its share of the time, in as many workers as requested."""
    part, planted = SearchPart(NAME), [each for each in load() if not wanted.select or each.mutation.name in wanted.select]
    seconds = max(10.0, wanted.seconds * wanted.workers / max(1, len(planted)))
    rows: dict[str, Any] = {}
    with snapshot() as base, ThreadPoolExecutor(wanted.workers) as pool:
        for each, found in zip(planted, pool.map(lambda each: hunt(base, each, seconds, wanted.seed), planted), strict=True):
            rows[each.mutation.name] = {"breaks": each.mutation.breaks, "about": each.about, **found}
            if found.get("judge") is None:
                tried = f"{found.get('seeds', 0)} seeds, {seconds:.0f} s"
                part.reds.append(f"{each.mutation.name}: not found in {tried} {found.get('error', '')}")
            else:
                told = f"seed {found['seed']}, {found['seeds']} seeds, {found['seconds']:.1f} s, {len(found['steps'])} steps"
                part.did.append(f"{each.mutation.name}: {found['judge']}: {found['text']} ({told})")
            print(f"    {(part.did + part.reds)[-1] if found.get('judge') is None else part.did[-1]}", flush=True)
    record(rows)
    return part


def hunt(base: Path, each: Planted, seconds: float, seed: int) -> dict[str, Any]:
    """Try seeds of the simulation until one finds the planted mistake. Returns `seed`, `seeds` tried, `seconds`, `judge`, `text`, and
    `steps` and `story` of the shrunk plan."""
    with tempfile.TemporaryDirectory(prefix="groupmock-planted-") as folder:
        mutant = Path(folder)
        copy(base, mutant)
        plant(each.mutation, mutant)
        command = [sys.executable, "-P", "-m", "tools.search.simulation", "--first", str(seed), "--seconds", f"{seconds:.0f}"]
        command += ["--until-found", "--finds", str(mutant / "finds"), *(["--kind", each.kind] if each.kind else [])]
        path = os.pathsep.join(map(str, (*(mutant / name for name in SOURCES), base)))
        began = time.monotonic()
        done = ended(command, seconds * 3 + 300, base, {"PYTHONPATH": path})
        told = [line for line in done.output.splitlines() if line.startswith("{")]
        if done.code != 0 or not told:
            return {"error": done.output[-500:]}
        return {**_found(json.loads(told[-1]), mutant / "finds"), "in_all": round(time.monotonic() - began, 1)}


def copy(base: Path, mutant: Path) -> None:
    for name in SOURCES:
        shutil.copytree(base / name, mutant / name, ignore=shutil.ignore_patterns("__pycache__"))


def _found(told: dict[str, Any], folder: Path) -> dict[str, Any]:
    first = told["first"]
    if first is None:
        return {"judge": None, "seeds": told["seeds"]}
    found = {"seed": first["seed"], "seeds": told["seeds"], "seconds": round(first["after"], 2)}
    found |= {"judge": first["judge"], "text": first["text"]}
    files = sorted(folder.glob("*.json"))
    find: dict[str, Any] = {"case": {"steps": []}, "story": [], "failure": ""}
    if files:
        find = json.loads(files[0].read_text(encoding="utf-8"))
    return {**found, "small": find["failure"], "steps": find["case"]["steps"], "story": find["story"][-STEPS:]}


def record(rows: dict[str, Any]) -> None:
    """Add rows to the record of planted mistakes, in the order of the list."""
    kept = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    known = {**kept.get("planted", {}), **rows}
    kept["planted"] = {name: known[name] for each in load() if (name := each.mutation.name) in known}
    save(RECORD, kept)
