"""Allow and deny operations to principals of a running cluster, by the rules of its authorizer (ACLs).

One word per route of the control API (docs/reference/control.md); `groupmock acl WORD --help` says more.
"""

from __future__ import annotations

import argparse

from ._remote import add_arguments as add_words
from ._remote import run

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_words(parser, "acl")
