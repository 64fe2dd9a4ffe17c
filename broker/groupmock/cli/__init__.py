"""The console script. One file per verb; the only readers of argv and the environment.

Exit codes: 0 ok, 1 a rule was broken, 2 bad use or configuration, 3 could not start, 4 verdict unknown (architecture section 5).

argparse, not click: `serve` is to be listening within 1.6 times `import uvloop`, and click alone costs half of that.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final, NoReturn

from ..version import __version__

OK: Final = 0
BROKEN: Final = 1
BAD_USE: Final = 2
CANNOT_START: Final = 3
UNKNOWN: Final = 4


class Parser(argparse.ArgumentParser):
    """argparse with one clear line and exit code 2 for bad use."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def verbs() -> list[str]:
    """Every verb: the files of this folder that are not helpers."""
    stems = (module.name for module in iter_modules(__path__))
    return sorted(stem for stem in stems if not stem.startswith("_"))


def verb_module(verb: str) -> ModuleType:
    """The module of a verb: `add_arguments(parser)`, `run(arguments) -> int`, and a docstring whose first line is its help."""
    return import_module(f".{verb}", __package__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in verbs():
        return _run_verb(words[0], words[1:])
    return _top(words)


def _run_verb(verb: str, words: list[str]) -> int:
    module = verb_module(verb)
    about = (module.__doc__ or "").strip()
    parser = Parser(prog=f"groupmock {verb}", description=about, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    module.add_arguments(parser)
    own, command = _cut(words) if getattr(module, "TAKES_COMMAND", False) else (words, [])
    intermixed = getattr(module, "INTERMIXED", False)  # flags between several positional words, which parse_args does not take
    arguments = parser.parse_intermixed_args(own) if intermixed else parser.parse_args(own)
    arguments.command = command
    try:
        code: int = module.run(arguments)
    except BrokenPipeError:  # `groupmock apis | head`
        sys.stderr.close()
        return OK
    return code


def _cut(words: list[str]) -> tuple[list[str], list[str]]:
    """Before and after the first `--`; argparse versions differ in what they make of one."""
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place + 1 :]


def _top(words: list[str]) -> int:
    rows = (
        "\n".join(f"  {verb:10} {(verb_module(verb).__doc__ or '').strip().splitlines()[0]}" for verb in verbs())
        if _wants_help(words)
        else ""
    )
    parser = Parser(
        prog="groupmock",
        description="A mock Kafka cluster whose group coordinators can be watched, held still and broken on purpose.",
        epilog=f"verbs:\n{rows}\n\n`groupmock VERB --help` says more of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"groupmock {__version__}")
    parser.add_argument("verb", metavar="VERB", help=f"one of {', '.join(verbs())}")
    chosen = parser.parse_args(words)
    parser.error(f"no verb {chosen.verb!r}: there are {', '.join(verbs())}")


def _wants_help(words: list[str]) -> bool:
    return not words or any(word in ("-h", "--help") for word in words)
