"""Steering: what an operator or a test makes a cluster do. Every verb is a command event, so that it is a row and replay plays it again.

One file per thing that is steered; each command declares its arguments as a struct, from which the control API's schema and the
checks come. A command checks everything before it changes anything. This package is imported when the first command comes, and of its
files those that are needed: a server that nobody steers pays nothing, one that has topics from its start loads `topics` alone.
"""

from __future__ import annotations

from .register import BadArguments, CannotSteer, NoSuch, NotNow, UnknownCommand, checked, find, load, steer

__all__ = ["BadArguments", "CannotSteer", "NoSuch", "NotNow", "UnknownCommand", "checked", "find", "load", "steer"]
