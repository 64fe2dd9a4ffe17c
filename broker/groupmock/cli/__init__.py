"""The console script; verbs are the only readers of argv and the environment.

A verb is a module: `add_arguments(parser)`, `run(arguments) -> int`, and a docstring whose first line is its help. The broker's own are the
files of this folder. All others live with what they run and are found by the entry-point group `groupmock.verbs`, so that the broker
imports nothing that stands on it; what is installed is looked up only for a word that is no verb of the broker's own, because that takes
milliseconds that `serve` has not got.

Exit codes: 0 ok, 1 a rule was broken, 2 bad use or configuration, 3 could not start, 4 verdict unknown, 130 interrupted.

Ctrl-C. A verb lets KeyboardInterrupt pass when it has ended what it started, with a text if there is more to say; `main` makes one sentence
and the exit code of it. Those in `ENDLESS` last until somebody ends them, so that is no interruption.

argparse, not click: `serve` is to be listening within 1.6 times `import uvloop`, and click alone costs half of that.
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final, NoReturn

from ..text.printable import one_line
from ..version import __version__

GROUP: Final = "groupmock.verbs"

OK: Final = 0
BROKEN: Final = 1
BAD_USE: Final = 2
CANNOT_START: Final = 3
UNKNOWN: Final = 4
INTERRUPTED: Final = 128 + signal.SIGINT

ENDLESS: Final = {"serve": (), "record": ("--",), "watch": ("--once",)}
"""Verbs that last until a signal comes, each with the words that give it an end of its own."""


class Parser(argparse.ArgumentParser):
    """argparse with one clear line and exit code 2 for bad use."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USE, one_line(f"{self.prog}: {message} (see {self.prog} --help)") + "\n")


def own_verbs() -> dict[str, str]:
    """The broker's verbs, each with its module: the files of this folder that are not helpers."""
    return {module.name: f"{__package__}.{module.name}" for module in iter_modules(__path__) if not module.name.startswith("_")}


def verbs() -> dict[str, str]:
    """Every verb with its module, by name; the broker's own before one that is installed by the same name."""
    from importlib.metadata import entry_points

    return dict(sorted(({each.name: each.module for each in entry_points(group=GROUP)} | own_verbs()).items()))


def about(module: str) -> str:
    """The first line of a module's docstring, read without running it: the list of verbs loads none of them."""
    import ast
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return "(its module is not installed)"
    return (ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or "").partition("\n")[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words)
    except KeyboardInterrupt as interrupt:
        return _interrupted(words, str(interrupt))
    except Exception as trouble:
        if not _followed_an_interrupt(trouble):
            raise
        return _interrupted(words, "")
    finally:
        if argv is None:  # the process ends: what still runs at its exit must not answer a second Ctrl-C by a traceback
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            gc.freeze()  # the system takes the memory back at once; Python would take a cluster of many groups apart for seconds


def _run(words: list[str]) -> int:
    if words and not words[0].startswith("-"):
        module = own_verbs().get(words[0]) or verbs().get(words[0])
        if module is not None:
            return _run_verb(words[0], import_module(module), words[1:])
    return _top(words)


def _followed_an_interrupt(trouble: BaseException | None) -> bool:
    """Is it of a `finally` that was broken in upon, as those of argparse and of libraries may be?"""
    while trouble is not None and not isinstance(trouble, KeyboardInterrupt):
        trouble = trouble.__cause__ or trouble.__context__
    return trouble is not None


def _interrupted(words: list[str], more: str) -> int:
    # If it came during an exec of text, by which dataclasses and named tuples are made, CPython takes it for unhandled until the next exec
    # and would end the process by SIGINT (_Py_UnhandledKeyboardInterrupt in Python/pythonrun.c).
    exec("")
    verb = words[0] if words and not words[0].startswith("-") else ""
    if verb in ENDLESS and not any(word in words for word in ENDLESS[verb]):
        return OK
    sys.stderr.write(one_line(f"{f'groupmock {verb}'.strip()}: interrupted{f': {more}' if more else ''}") + "\n")
    return INTERRUPTED


def _run_verb(verb: str, module: ModuleType, words: list[str]) -> int:
    described = (module.__doc__ or "").strip()
    parser = Parser(
        prog=f"groupmock {verb}", description=described, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
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
