"""Find settings that contradict each other or need libraries that are not installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from groupmock_codec import extras

from ..text.printable import brief

if TYPE_CHECKING:
    from ..core.settings import Settings

OPENS: Final = "groupmock.compression.open"


def contradiction(settings: Settings, origins: Mapping[str, str]) -> str | None:
    """Return a sentence about settings that contradict each other, or None. `origins` says where each was given."""
    lowest, highest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    if lowest > highest:
        places = {origins[key] for key in ("group.min.session.timeout.ms", "group.max.session.timeout.ms") if key in origins}
        bounds = f"group.min.session.timeout.ms ({lowest}) is above group.max.session.timeout.ms ({highest})"
        return f"{' and '.join(sorted(places))}: {bounds}"
    if settings.super_users:
        from ..core.settings import super_users_of  # This import is late, because a server that only listens does not need it.

        for each in super_users_of(settings.super_users):
            if ":" not in each:
                return f"{origins['super.users']}: super.users has {brief(each)}: a principal has a type, as in User:admin"
    if settings.compression_open and not extras.opens_all():
        return f"{origins[OPENS]}: {OPENS} needs {extras.LIBRARY}: {extras.pip_install('compression')}"
    return None
