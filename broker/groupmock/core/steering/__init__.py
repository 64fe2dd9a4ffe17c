"""Steering commands let an operator or a test change a cluster. Every command is an event, so it is a journal row and a replay runs it
again.

Each file has the commands for one kind of object. A command declares its arguments as a struct, from which the control API derives its
schema and its checks. A command checks everything before it changes anything. This package is imported at the first command, and only the
files that it needs: a server without commands pays nothing, and one that creates topics at its start loads `topics` alone.
"""

from __future__ import annotations

from .register import BadArguments, CannotSteer, NoSuch, NotNow, UnknownCommand, checked, find, load, steer

__all__ = ["BadArguments", "CannotSteer", "NoSuch", "NotNow", "UnknownCommand", "checked", "find", "load", "steer"]
