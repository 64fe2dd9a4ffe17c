"""Steer a running cluster: nodes, coordinators, leaders, the clock; health, reset, seed.

One word per route of the control API (docs/reference/control.md); `groupmock cluster WORD --help` says more.
"""

from __future__ import annotations

import argparse

from ._remote import add_arguments as add_words
from ._remote import run

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_words(parser, "cluster")
