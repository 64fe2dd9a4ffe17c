"""One file per job: `run(spark, arguments)`, a docstring whose first line is its help, and `add_arguments(parser)` if it has options."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def names() -> list[str]:
    return sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))


def job(name: str) -> ModuleType:
    return import_module(f".{name}", __package__)
