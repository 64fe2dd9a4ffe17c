"""The list of mistakes, and how one is planted in a copy of the sources."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.runs import ROOT

LIST: Final = ROOT / "tests/mutations/mutations.toml"
CORE: Final = "broker/groupmock/core/"
FOLDERS: Final = {"golden": "tests/golden", "exchanges": "clients/groupmock_clients/probe/exchanges", "unit": "tests/unit"}
"""Maps a judge to the folder with its tests or its data."""


class Stale(Exception):
    """The list of mutations does not fit the sources any more."""


@dataclass(frozen=True)
class Mutation:
    """One mistake to be planted in the sources. `rows` are the rows of exchanges that may name it, () if none does. `survives` says why
    the golden corpus cannot notice it."""

    name: str
    file: str
    old: str
    new: str
    breaks: str
    rows: tuple[str, ...] = ()
    survives: str = ""

    @property
    def in_core(self) -> bool:
        """Tell whether a client could see the mistake, because the mistake is in the core."""
        return self.file.startswith(CORE)

    @property
    def judges(self) -> tuple[str, ...]:
        """Return the names of the judges (sets of tests) that try to notice the mistake."""
        return tuple(judge for judge, asked in zip(FOLDERS, (self.in_core, self.rows, True), strict=True) if asked)

    @property
    def part(self) -> str:
        """Return the folder of tests/unit that mirrors the broken file: core, codec, net, ..."""
        folders = {folder.name for folder in (ROOT / FOLDERS["unit"]).iterdir() if folder.is_dir()}
        return next(name for each in Path(self.file).parent.parts[::-1] if (name := each.removeprefix("groupmock_")) in folders)


def load(path: Path = LIST) -> list[Mutation]:
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Mutation(name=name, **{**entry, "rows": tuple(entry.get("rows", ()))}) for name, entry in listed.items()]


def plant(mutation: Mutation, root: Path) -> None:
    """Plant the mistake in the sources below `root`. Raises Stale unless the old text occurs exactly once."""
    file = root / mutation.file
    if not file.is_file():
        raise Stale(f"{mutation.name}: there is no {mutation.file}: {LIST.name} must be kept up to date")
    text = file.read_text(encoding="utf-8")
    times = text.count(mutation.old)
    if times != 1:
        raise Stale(
            f"{mutation.name}: its old text stands {times} times in {mutation.file}, not once: {LIST.name} must be kept up to date\n"
            f"{mutation.old.strip(chr(10))}"
        )
    if mutation.new == mutation.old:
        raise Stale(f"{mutation.name}: changes nothing")
    shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
    file.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")


def check(mutation: Mutation, base: Path = ROOT) -> None:
    """Check that the text which the mistake replaces is where the list says. Raises Stale."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / mutation.file
        copy.parent.mkdir(parents=True)
        if (base / mutation.file).is_file():
            shutil.copy(base / mutation.file, copy)
        plant(mutation, Path(folder))


def named_by(mutation: Mutation, rows: Iterable[str]) -> list[str]:
    """Return those of the given rows that the mutation says its mistake breaks."""
    broken = set(rows)
    return [row for row in mutation.rows if row in broken]
