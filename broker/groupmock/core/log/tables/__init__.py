"""The tables have the broker configs of each release in the order in which Kafka defines and checks them. tools/broker_configs recorded
them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Final, NamedTuple

NULL: Final = "null"


class ConfigRow(NamedTuple):
    """A broker config of a release. `change` is i (internal), r (read-only), b (for one broker) or c (for one broker or all of them).
    `bounds` has a form such as `0:`, `0:1`, `1:9|-1`, `a,b` or `-`."""

    name: str
    kind: str
    change: str
    bounds: str
    default: str | None


def rows(release: str) -> Iterator[ConfigRow]:
    """Yield the broker configs of a release ("4.4"). Its table is imported when it is first asked for, which a server that starts does
    not do."""
    table = import_module(f".kafka_{release.replace('.', '_')}", __package__)
    for line in table.ROWS.splitlines():
        name, kind, change, bounds, default = line.split(" ", 4)
        yield ConfigRow(name, kind, change, bounds, None if default == NULL else default[1:-1])
