"""Writes the pages under docs/ that come from the program: settings, journal rows, states of a group. A test compares them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from groupmock import profiles
from groupmock.config import OPTIONS, all_settings
from groupmock.core.group.states import ANSWERS, MAY_FOLLOW, Ask, State
from groupmock.core.settings import Quirks
from groupmock.journal.rows import KINDS, ROWS, Header, documentation
from groupmock_codec.errors import ErrorCode

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTICE = "<!-- written by tools/docs_pages.py (`make docs`): do not edit -->"


def settings_page() -> str:
    """Every option and knob, and what each profile changes."""
    lines = [
        NOTICE,
        "# Settings",
        "",
        "Profile < TOML file < environment < flags. `groupmock config` shows each value and where it came from.",
        "",
    ]
    lines += ["## groupmock's own options", "", *_table(["option", "default", "what it does"], _options()), ""]
    lines += ["## Kafka's settings", ""]
    lines += [
        "`--set KEY=VALUE`, the TOML table `[set]`, or `GROUPMOCK_SET_<KEY>` with dots as underscores. Times are ms, sizes bytes.",
        "",
    ]
    lines += _table(["setting", "default", "takes", "what it does"], _knobs())
    for name in profiles.names():
        lines += ["", *_profile(name)]
    return "\n".join(lines) + "\n"


def _options() -> Iterator[list[str]]:
    for option in OPTIONS:
        default = "" if option.default in (None, ()) else f"`{option.default}`"
        yield [f"`--{option.name} {_cell(option.metavar)}`", default, _cell(option.about)]


def _knobs() -> Iterator[list[str]]:
    for name, setting in sorted(all_settings().items()):
        default = str(setting.default).lower() if setting.kind is bool else setting.default
        yield [f"`{name}`", f"`{default}`", setting.takes, _cell(setting.knob.about)]


def _profile(name: str) -> list[str]:
    profile = profiles.load(name)
    lines = [f"## Profile `{name}`", "", profile.about]
    lines += [f"\nSettings: {', '.join(f'`{key}={value}`' for key, value in profile.settings.items())}."] if profile.settings else []
    ordered = [quirk for quirk in Quirks.__struct_fields__ if quirk in profile.quirks]
    lines += (
        [f"\nQuirks (`groupmock.core.settings.Quirks` says what each is): {', '.join(f'`{quirk}`' for quirk in ordered)}."]
        if ordered
        else []
    )
    return lines


def journal_page() -> str:
    """The header and every kind of row."""
    lines = [NOTICE, "# The journal, version 1", ""]
    lines += ["JSON Lines: a header, then rows. Fields at their default are left out; bytes are base64; unknown kinds are to be kept.", ""]
    lines += ["## Header", "", *_table(["field", "meaning"], _fields(Header))]
    for kind in KINDS:
        about = (ROWS[kind].__doc__ or "").strip()
        lines += [
            "",
            f"## `{kind}`",
            "",
            about,
            "",
            *_table(["field", "meaning"], ([f"`{n}`", _cell(t)] for n, t in documentation(kind).items())),
        ]
    return "\n".join(lines) + "\n"


def _fields(declared: type) -> Iterator[list[str]]:
    from typing import get_type_hints

    hints = get_type_hints(declared, include_extras=True)
    for name in declared.__struct_fields__:  # type: ignore[attr-defined]  # a msgspec.Struct
        yield [f"`{name}`", _cell(hints[name].__metadata__[0].description)]


def states_page() -> str:
    """The state table that the coordinator dispatches on."""
    lines = [NOTICE, "# States of a group", "", "The coordinator answers from these two tables; tests and this page read the same.", ""]
    lines += [
        "## What may follow",
        "",
        *_table(["state", "next"], ([str(s), ", ".join(sorted(map(str, MAY_FOLLOW[s]))) or "nothing"] for s in State)),
    ]
    lines += ["", "## What is done and answered", "", "Error codes are Kafka's; *renews* means that the member's session starts again.", ""]
    rows = ([_cell(str(ask)), *(_answer(state, ask) for state in State)] for ask in Ask)
    return "\n".join([*lines, *_table(["asked", *map(str, State)], rows)]) + "\n"


def _answer(state: State, ask: Ask) -> str:
    answer = ANSWERS[state, ask]
    error = f", {answer.error} {ErrorCode(answer.error).name}" if answer.error else ""
    return f"{answer.do.value}{error}{', *renews*' if answer.renews else ''}"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _table(head: list[str], rows: Iterator[list[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


PAGES: dict[str, Callable[[], str]] = {"settings.md": settings_page, "journal.md": journal_page, "states.md": states_page}


def main() -> int:
    """Write every page; says which changed."""
    for name, make in PAGES.items():
        old = (DOCS / name).read_text() if (DOCS / name).exists() else ""
        (DOCS / name).write_text(make())
        print(f"docs/{name}: {'unchanged' if old == make() else 'written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
