"""The exchanges that ship with the product, and the rows (statements about brokers) that they prove: statement, reason and source."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .exchange import Exchange
from .parser import load_folder
from .syntax import ExchangeError

FOLDER: Final = Path(__file__).parent.parent / "exchanges"
"""The folder of exchanges, which the wheel contains too."""
ROWS: Final = "rows.toml"
KEYS: Final = frozenset({"says", "why", "kip", "place", "needs"})


@dataclass(frozen=True)
class Statement:
    """One statement about the behaviour of brokers. `says` is the statement and `why` the damage to users if it does not hold.

    `kip` is the proposal or class of Apache Kafka it comes from, `place` the section of the specification, and `needs` a requirement on the
    broker (NEEDS), if any.
    """

    name: str
    section: str
    says: str = ""
    why: str = ""
    kip: str = ""
    place: str = ""
    needs: str = ""


@dataclass(frozen=True)
class Suite:
    """A set of exchanges and the statements about brokers that they prove."""

    exchanges: tuple[Exchange, ...]
    rows: Mapping[str, Statement]


def load_suite(folder: Path = FOLDER) -> Suite:
    """Read a folder of exchanges. Without a rows.toml the rows are those that the exchanges name. Raises ExchangeError."""
    exchanges = tuple(load_folder(folder))
    file = folder / ROWS
    rows = load_rows(file) if file.is_file() else {}
    for exchange in exchanges:
        for row in exchange.rows:
            if file.is_file() and row not in rows:
                raise ExchangeError(exchange.place, f"exchange {exchange.name} proves {row}, which {ROWS} does not know")
            rows.setdefault(row, Statement(row, ""))
    return Suite(exchanges, rows)


def load_rows(file: Path) -> dict[str, Statement]:
    """Read rows.toml: sections with defaults (`why`, `kip`, `place`, `needs`) and a table `rows` that maps a name to a text or a table
    of KEYS."""
    try:
        sections = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as problem:  # The suite's file is not TOML, or not UTF-8.
        raise ExchangeError(file.name, str(problem)) from problem
    found: dict[str, Statement] = {}
    for section, table in sections.items():
        if not (isinstance(table, dict) and isinstance(table.get("rows", {}), dict)):
            raise ExchangeError(file.name, f"{section} is no section: a table with defaults and a table `rows` is expected")
        defaults = {key: value for key, value in table.items() if key != "rows"}
        for name, given in table.get("rows", {}).items():
            if name in found:
                raise ExchangeError(file.name, f"row {name} is there twice")
            found[name] = _row(name, section, defaults | (given if isinstance(given, dict) else {"says": given}), file.name)
    return found


def _row(name: str, section: str, values: Mapping[str, Any], place: str) -> Statement:
    unknown = sorted(values.keys() - KEYS)
    if unknown:
        raise ExchangeError(place, f"row {name}: {', '.join(unknown)} means nothing (there are {', '.join(sorted(KEYS))})")
    return Statement(name, section, **{key: str(value) for key, value in values.items()})
