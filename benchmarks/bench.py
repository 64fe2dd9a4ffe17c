"""What a figure is given to work with, and how a figure is found: one module per figure in `benchmarks.figures`."""

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
    """The run: cores, patience, how much work a measurement does, and where results go."""

    repeat: int = 5
    quick: bool = False
    large: bool = False
    """Also what takes a quarter of an hour and gigabytes of disk."""
    peers: frozenset[str] = frozenset()
    """Optional peers to measure too: kfake, kafka."""
    cores: Cores = field(default_factory=Cores.available)
    quiet: Quiet = field(default_factory=Quiet)
    results: Measurements = field(default_factory=Measurements)

    def scaled(self, full: float, quick: float) -> float:
        """One of the two, by --quick."""
        return quick if self.quick else full


class Figure(Protocol):
    """A module of `benchmarks.figures`: the targets it fills, and one round of measuring them."""

    KEYS: tuple[str, ...]

    @staticmethod
    def run(bench: Bench) -> None:
        """Measures `bench.repeat` rounds; raises Missing when this machine lacks what is needed."""


def available() -> dict[str, Figure]:
    """Every figure by the name of its module, in the order of the table."""
    names = [each.name for each in pkgutil.iter_modules(figures.__path__)]
    found: dict[str, Figure] = {name: importlib.import_module(f"{figures.__name__}.{name}") for name in names}  # type: ignore[misc]
    return found
