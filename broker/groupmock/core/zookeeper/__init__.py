"""What only Kafka 2.8 does: the answers of its admin manager, which works on ZooKeeper (kafka.server.AdminManager, ZkAdminManager).

One file per API key, same stem as the API's file in `core.apis`, whose place it takes in a core with the quirk `zookeeper_admin` (chosen in
`core.core`, once). Later releases hand these requests to the controller of KIP-500, whose answers are in `core.apis`. A product without
2.8 deletes this folder and that choice.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from .. import apis


@cache
def module_names() -> dict[int, str]:
    """API key -> module stem of those that 2.8 answers in its own way."""
    return apis.keyed(module.name for module in iter_modules(__path__))


@cache
def behaviour(key: int) -> apis.Behaviour:
    """What a request of that key does: here where there is a file of it, else as everywhere."""
    if key not in module_names():
        return apis.behaviour(key)
    found: apis.Behaviour = import_module(f".{module_names()[key]}", __package__).handle
    return found
