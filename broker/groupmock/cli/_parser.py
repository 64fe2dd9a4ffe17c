"""Parses the words of the command line with argparse, which `serve` imports only for words that are more than flags with values."""

from __future__ import annotations

import argparse
from types import ModuleType
from typing import NoReturn

from ..text.printable import one_line
from ..version import __version__
from . import BAD_USE, about, verbs


class Parser(argparse.ArgumentParser):
    """An argparse parser that reports bad use in one line, with exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USE, one_line(f"{self.prog}: {message} (see {self.prog} --help)") + "\n")


def parse(verb: str, module: ModuleType, words: list[str]) -> argparse.Namespace:
    """Return the arguments of a verb, with the words after `--` as `command`."""
    described = (module.__doc__ or "").strip()
    parser = Parser(
        prog=f"groupmock {verb}", description=described, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    module.add_arguments(parser)
    own, command = _cut(words) if getattr(module, "TAKES_COMMAND", False) else (words, [])
    # These verbs allow flags between positional arguments, which parse_args does not accept.
    intermixed = getattr(module, "INTERMIXED", False)
    arguments = parser.parse_intermixed_args(own) if intermixed else parser.parse_args(own)
    arguments.command = command
    return arguments


def _cut(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words before and after the first `--`, because argparse versions treat it differently."""
    index = words.index("--") if "--" in words else len(words)
    return words[:index], words[index + 1 :]


def top(words: list[str]) -> NoReturn:
    """Show the help or the version, or refuse an unknown verb."""
    known = verbs()
    rows = "\n".join(f"  {verb:10} {about(module)}" for verb, module in known.items()) if _wants_help(words) else ""
    parser = Parser(
        prog="groupmock",
        description="A mock Kafka cluster whose group coordinators can be watched, held still and broken on purpose.",
        epilog=f"verbs:\n{rows}\n\n`groupmock VERB --help` says more of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"groupmock {__version__}")
    parser.add_argument("verb", metavar="VERB", help=f"one of {', '.join(known)}")
    chosen = parser.parse_args(words)
    parser.error(f"no verb {chosen.verb!r}: there are {', '.join(known)}")


def _wants_help(words: list[str]) -> bool:
    return not words or any(word in ("-h", "--help") for word in words)
