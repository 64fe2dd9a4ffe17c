"""Names Kafka's broker settings that groupmock accepts and ignores, because no code of groupmock reads them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ..core.log import tables
from . import profiles
from .declared import all_settings
from .option_values import LISTENER_PREFIX


@cache
def ignored_settings() -> dict[str, str]:
    """Return the broker settings of Kafka's releases that groupmock does not serve, each with the default of the newest release that has
    it. Every release with a profile counts."""
    served = all_settings()
    rows = {row.name: row.default or "" for release in reversed(profiles.releases()) for row in tables.rows(release)}
    return {name: rows[name] for name in sorted(rows) if name not in served}


def is_ignored(name: str) -> bool:
    """Return whether groupmock ignores this setting, which may be one of a single listener."""
    ignored = ignored_settings()
    return name in ignored or (name.startswith(LISTENER_PREFIX) and any(name.endswith(f".{each}") for each in ignored))


def in_words(given: Iterable[str]) -> str:
    """Return the line in which a server names the given settings that it ignores."""
    return f"accepted but not used, groupmock behaves as with their defaults: {', '.join(given)}"
