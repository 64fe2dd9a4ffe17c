"""The tables have the broker configs of each release in the order in which Kafka defines and checks them. tools/broker_configs recorded
them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

NULL: Final = "null"


class ConfigRow(NamedTuple):
    """One broker config of a release. `change` is i (internal), r (read-only), b (for one broker) or c (for one broker or all of them).
    `bounds` has a form such as `0:`, `0:1`, `1:9|-1`, `a,b` or `-`."""

    name: str
    kind: str
    change: str
    bounds: str
    default: str | None


def rows(release: str) -> Iterator[ConfigRow]:
    """Yield the broker configs of a release, which is 3.9, 4.3 or 4.4. A table is imported when it is first
    asked for, which a server that starts does not do."""
    if release == "3.9":
        from .kafka_3_9 import ROWS
    elif release == "4.3":
        from .kafka_4_3 import ROWS
    else:
        from .kafka_4_4 import ROWS
    for line in ROWS.splitlines():
        name, kind, change, bounds, default = line.split(" ", 4)
        yield ConfigRow(name, kind, change, bounds, None if default == NULL else default[1:-1])
