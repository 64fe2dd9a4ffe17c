"""Steering: what an operator or a test makes a cluster do. Every verb is a command event, so that it is a row and replay plays it again.

One file per thing that is steered; each command declares its arguments as a struct, from which the control API's schema and the
checks come. A command checks everything before it changes anything. Imported when the first command comes: a server that nobody
steers pays nothing.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from .register import STEERS, BadArguments, CannotSteer, NoSuch, NotNow, steer

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __package__)  # each registers its commands

__all__ = ["STEERS", "BadArguments", "CannotSteer", "NoSuch", "NotNow", "steer"]
