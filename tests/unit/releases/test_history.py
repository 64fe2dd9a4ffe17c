"""The table of releases names what a release brought beside the one before it."""

from __future__ import annotations

from groupmock_codec.declare import Versions
from tools.pages.releases_page import releases
from tools.releases.history import ReleaseFacts, row
from tools.releases.proposal import ErrorCode
from tools.releases.schemas import Schema


def facts(configs: set[str], errors: int, **ranges: tuple[int, int]) -> ReleaseFacts:
    """Return the facts of a release whose APIs have these versions; the API keys count up from 0."""
    apis = {name: Schema(key, f"{name}Request", Versions(*span), None, ()) for key, (name, span) in enumerate(ranges.items())}
    return ReleaseFacts(apis, tuple(ErrorCode(code, f"E{code}", retriable=False) for code in range(errors)), frozenset(configs))


BEFORE = facts({"a", "b"}, 2, Old=(0, 3), Gone=(0, 0))
AFTER = facts({"b", "c", "d"}, 3, Old=(2, 4), New=(0, 0))


def test_row_of_a_release_has_new_raised_and_gone_things() -> None:
    found = row("4.3.0", "2026-05-13", BEFORE, AFTER, ("2026-11-21", ""))
    assert (found.apis, found.raised, found.lowest_raised, found.gone) == (("New (1)",), ("Old 4",), 1, ("Gone (1)",))
    assert (found.errors, found.configs, found.configs_gone) == (("2 E2",), 2, 1)


def test_table_begins_with_the_newest_release_and_says_since_when_it_is_served() -> None:
    first = row("2.8.2", "2022-09-02", BEFORE, BEFORE, ("2026-11-21", "2026-11-28"))
    lines = releases([first, row("4.3.0", "2026-05-13", BEFORE, AFTER, ("2026-11-21", ""))])
    assert lines[2] == (
        "| 4.3.0 | 2026-05-13 | New (1); gone: Gone (1) | Old 4; oldest versions of 1 APIs gone | 2 E2 | 2 new, 1 gone "
        "| `kafka-4.3` since 2026-11-21 |"
    )
    assert lines[3].startswith("| 2.8.2 | 2022-09-02 | the first that was measured |")
    assert lines[3].endswith("| from 2026-11-21 to 2026-11-28 |")
