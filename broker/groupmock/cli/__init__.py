"""The console script of groupmock. Only verbs read argv and the environment.

A verb is a module with `add_arguments(parser)`, `run(arguments) -> int` and a docstring whose first line is its help. The broker's own
verbs are the files of this folder. All others are beside what they run and are found by the entry-point group `groupmock.verbs`, so that
the broker does not import them. Entry points are looked up only for a word that is no own verb, because the look-up takes milliseconds
that `serve` cannot afford.

Exit codes: 0 ok, 1 a rule was broken, 2 bad use or configuration, 3 could not start, 4 verdict unknown, 130 interrupted.

Ctrl-C. A verb raises KeyboardInterrupt after it has ended what it started, with a text if there is more to say; `main` prints one sentence
and returns the exit code. For the verbs in `ENDLESS`, Ctrl-C is the normal end.

argparse, not click: `serve` has to listen within 1.5 times the time of `import uvloop`, and click alone costs half of that. `serve` does
without argparse if it can (`_options.plain_arguments`).
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

from groupmock_codec.listing import stems

from ..text.printable import one_line

GROUP: Final = "groupmock.verbs"

OK: Final = 0
BROKEN: Final = 1
BAD_USE: Final = 2
CANNOT_START: Final = 3
UNKNOWN: Final = 4
INTERRUPTED: Final = 128 + signal.SIGINT

ENDLESS: Final = {"serve": (), "record": ("--",), "watch": ("--once",)}
"""Verbs that run until a signal comes, each with the arguments with which it ends by itself."""


def own_verbs() -> dict[str, str]:
    """Return the broker's own verbs with their modules, which are the files of this folder without a leading underscore."""
    return {stem: f"{__package__}.{stem}" for stem in stems(__path__) if not stem.startswith("_")}


def verbs() -> dict[str, str]:
    """Return every verb with its module, sorted by name. The broker's own verb replaces an installed one of the same name."""
    from importlib.metadata import entry_points

    return dict(sorted(({verb.name: verb.module for verb in entry_points(group=GROUP)} | own_verbs()).items()))


def about(module: str) -> str:
    """Return the first line of a module's docstring without importing the module."""
    import ast
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return "(its module is not installed)"
    return (ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or "").partition("\n")[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # What a start loads is no garbage: a server collects from its ready line on, other verbs from their first step.
        gc.disable()
    try:
        return _run(words)
    except KeyboardInterrupt as interrupt:
        return _interrupted(words, str(interrupt))
    except Exception as trouble:
        if not _followed_an_interrupt(trouble):
            raise
        return _interrupted(words, "")
    finally:
        if argv is None:  # A second Ctrl-C while the process exits must not print a traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            gc.freeze()  # The system frees the memory at once, while Python would take seconds to free a cluster of many groups.


def _run(words: list[str]) -> int:
    if words and not words[0].startswith("-"):
        module = own_verbs().get(words[0]) or verbs().get(words[0])
        if module is not None:
            return _run_verb(words[0], import_module(module), words[1:])
    from ._parser import top

    top(words)


def _followed_an_interrupt(error: BaseException | None) -> bool:
    """True if the error came after a KeyboardInterrupt, because a `finally` of argparse or of a library may fail then."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _interrupted(words: list[str], more: str) -> int:
    # A KeyboardInterrupt during an exec of text, by which dataclasses and named tuples are made, counts as unhandled until the next exec,
    # and CPython would end the process by SIGINT (_Py_UnhandledKeyboardInterrupt in Python/pythonrun.c).
    exec("")
    verb = words[0] if words and not words[0].startswith("-") else ""
    if verb in ENDLESS and not any(word in words for word in ENDLESS[verb]):
        return OK
    sys.stderr.write(one_line(f"{f'groupmock {verb}'.strip()}: interrupted{f': {more}' if more else ''}") + "\n")
    return INTERRUPTED


def _run_verb(verb: str, module: ModuleType, words: list[str]) -> int:
    plain = getattr(module, "plain_arguments", None)
    arguments = plain(words) if plain is not None else None
    if arguments is None:
        from ._parser import parse  # argparse takes a tenth of the time in which `serve` starts, with all that it imports.

        arguments = parse(verb, module, words)
    if verb != "serve":
        gc.enable()
    try:
        code: int = module.run(arguments)
    except BrokenPipeError:  # The reader of a pipe has ended, as in `groupmock apis | head`.
        sys.stderr.close()
        return OK
    return code
