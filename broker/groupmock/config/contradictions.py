"""Find settings that contradict each other or need libraries that are not installed."""

from __future__ import annotations

from collections.abc import Mapping
from operator import ge, lt
from typing import TYPE_CHECKING, Final

from groupmock_codec import extras

from ..text.printable import brief

if TYPE_CHECKING:
    from ..core.settings import Settings

OPENS: Final = "groupmock.compression.open"
AT_LEAST: Final = {
    "group.max.session.timeout.ms": "group.min.session.timeout.ms",
    "group.share.max.share.sessions": "group.share.max.size",
    "group.consumer.max.session.timeout.ms": "group.consumer.min.session.timeout.ms",
    "group.consumer.max.heartbeat.interval.ms": "group.consumer.min.heartbeat.interval.ms",
}
"""Settings of which the first must not be below the second: a broker does not start otherwise (GroupCoordinatorConfig and ShareGroupConfig
of Kafka 4.4.0; it does with the first pair, and refuses every classic member)."""
HEARTBEATS: Final = {f"group.{kind}.heartbeat.interval.ms": f"group.{kind}.session.timeout.ms" for kind in ("consumer", "share", "streams")}
"""Heartbeat intervals, each of which must be below a session timeout. A short session timeout alone makes quick tests and is taken
(docs/kafka/differences.md#consumer-groups)."""


def contradiction(settings: Settings, origins: Mapping[str, str]) -> str | None:
    """Return a sentence about settings that contradict each other, or None. `origins` says where each was given."""
    heartbeats = {name: other for name, other in HEARTBEATS.items() if name in origins}
    for order, is_right, pairs in (("greater than or equal to", ge, AT_LEAST), ("less than", lt, heartbeats)):
        for name, other in pairs.items():
            value, bound = (getattr(settings, each.replace(".", "_")) for each in (name, other))
            if not is_right(value, bound):
                places = " and ".join(sorted({origins[key] for key in (name, other) if key in origins}))
                return f"{places}: {name} ({value}) must be {order} {other} ({bound})"
    if settings.super_users:
        from ..core.settings import super_users_of  # This import is late, because a server that only listens does not need it.

        for each in super_users_of(settings.super_users):
            if ":" not in each:
                return f"{origins['super.users']}: super.users has {brief(each)}: a principal has a type, as in User:admin"
    if settings.compression_open and not extras.opens_all():
        return f"{origins[OPENS]}: {OPENS} needs {extras.LIBRARY}: {extras.pip_install('compression')}"
    return None
