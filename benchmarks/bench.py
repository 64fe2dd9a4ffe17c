"""Defines what a figure receives in order to measure itself, and finds the figures: each is a module of `benchmarks.figures`."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from . import figures
from .machine import Cores, Quiet
from .measurements import Measurements

T = TypeVar("T")


@dataclass
class Bench:
    """One run of the benchmarks: its cores, how long it waits for a quiet machine, the amount of work per measurement, and its results."""

    repeat: int = 5
    quick: bool = False
    large: bool = False
    """True if also those measurements are wanted that take a quarter of an hour and gigabytes of disk."""
    peers: frozenset[str] = frozenset()
    """The optional peers to measure too: kfake, kafka."""
    cores: Cores = field(default_factory=Cores.available)
    quiet: Quiet = field(default_factory=Quiet)
    results: Measurements = field(default_factory=Measurements)

    def scaled(self, full: float, quick: float) -> float:
        """Return `quick` if --quick was given, else `full`."""
        return quick if self.quick else full


class Figure(Protocol):
    """A module of `benchmarks.figures`: it names the targets that it fills and measures them."""

    KEYS: tuple[str, ...]

    @staticmethod
    def run(bench: Bench) -> None:
        """Measure `bench.repeat` rounds of the figure. Raises Missing when this machine lacks what is needed."""


def available() -> dict[str, Figure]:
    """Return every figure by the name of its module, in the order of the table."""
    names = [each.name for each in pkgutil.iter_modules(figures.__path__)]
    found: dict[str, Figure] = {name: importlib.import_module(f"{figures.__name__}.{name}") for name in names}  # type: ignore[misc]
    return found
