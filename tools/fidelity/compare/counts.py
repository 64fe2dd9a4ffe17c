"""The figures of a comparison: counts per API and version, differences, and unstable plays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from groupmock_clients.probe.language.exchange import Send, Step
from groupmock_codec import APIS

from ..generated.script import key_of, version_of
from ..generated.transcript import ANSWERED, Event
from .canonical import Difference

Cell = tuple[int, int, str]
"""A cell of the table that counts answers: API key, version, outcome."""


class FamilyResult(msgspec.Struct):
    """The figures of one run of a family of exchanges. `apis`: name -> version -> [compared, differences]; `outcomes`: name -> outcome
    -> count."""

    family: str
    release: str
    broker: str
    settings: str
    seeds: tuple[int, int]
    exchanges: int
    requests: int
    seconds: float
    per_second: float
    apis: dict[str, dict[str, list[int]]]
    outcomes: dict[str, dict[str, int]]
    states: dict[str, float]
    differences: list[Difference]
    unstable: list[int]
    recorded: dict[str, int]
    noisy: int
    replayed: int
    """The number of plays that were repeated because the machine was too slow for a meaningful comparison."""


class Counts:
    """Counts the results of a run in progress."""

    def __init__(self) -> None:
        self.cells: Counter[Cell] = Counter()
        self.differing: Counter[tuple[int, int]] = Counter()
        self.states: Counter[str] = Counter()
        self.recorded: Counter[str] = Counter()
        self.differences: list[Difference] = []
        self.unstable: list[int] = []
        self.exchanges = self.noisy = self.replayed = 0

    def played(self, steps: Sequence[Step], events: Sequence[Event], states: set[str]) -> None:
        """Count the answers of an exchange that was compared."""
        self.exchanges += 1
        self.states.update(states)
        for step, event in zip(steps, events, strict=False):
            if isinstance(step, Send):
                self.cells[key_of(step), version_of(step), outcome(event)] += 1

    def differs(self, difference: Difference) -> None:
        """Count a difference that repeats when the exchange is played again, and that is no known difference."""
        self.differences.append(difference)
        if difference.key is not None and difference.version is not None:
            self.differing[difference.key, difference.version] += 1

    def apis(self) -> dict[str, dict[str, list[int]]]:
        """Return for each API and version the number of comparisons and of differences."""
        found: dict[str, dict[str, list[int]]] = {}
        for (key, version, _), count in sorted(self.cells.items()):
            cell = found.setdefault(APIS[key].name, {}).setdefault(str(version), [0, self.differing[key, version]])
            cell[0] += count
        return found

    def outcomes(self) -> dict[str, dict[str, int]]:
        """Return for each API how often each error code (or parked, closed) was seen."""
        found: dict[str, Counter[str]] = {}
        for (key, _, seen), count in sorted(self.cells.items()):
            found.setdefault(APIS[key].name, Counter())[seen] += count
        return {name: dict(counts) for name, counts in found.items()}

    def requests(self) -> int:
        return sum(self.cells.values())


def outcome(event: Event) -> str:
    """Return the answer's error codes, including nested ones, or the status of a request without an answer."""
    if event.status != ANSWERED or event.answer is None:
        return event.status
    codes = sorted(set(_codes(event.answer)))
    return "+".join(map(str, codes)) if codes else "0"


def _codes(value: object) -> list[int]:
    if isinstance(value, list):
        return [code for each in value for code in _codes(each)]
    if not isinstance(value, dict):
        return []
    found = [value["error_code"]] if "error_code" in value else []
    return found + [code for name, each in value.items() if name != "error_code" for code in _codes(each)]
