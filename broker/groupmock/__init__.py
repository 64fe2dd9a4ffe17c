"""groupmock: a mock Kafka cluster whose group coordinators can be watched, held still and broken on purpose.

from groupmock import Broker

with Broker(topics={"orders": 12}, seed=1) as broker:
    consumer = KafkaConsumer("orders", group_id="billing", bootstrap_servers=broker.bootstrap)
"""

from __future__ import annotations

from typing import Any, Final

from .version import __version__ as __version__

HOMES: Final = {
    "audit.verdicts": ("Audit",),
    "config.resolve": ("ConfigError",),
    "core.groups.view": ("GroupView", "MemberView", "State"),
    "core.steering.offsets": ("Reset",),
    "core.steering.register": ("CannotSteer",),
    "data.facts": ("ConfigRow", "PartitionFacts", "TopicFacts"),
    "data.lag": ("GroupLag", "PartitionLag"),
    "data.lines": ("BadLine",),
    "data.log_record": ("Record",),
    "data.seed": ("BadSeedData", "SeedData", "Seeded"),
    "data.writing": ("Written",),
    "faults.plan": ("BadPlan", "Plan"),
    "faults.registry": ("RuleReport", "UnknownRule"),
    "inprocess.async_broker": ("AsyncBroker", "AsyncFaultBlock"),
    "inprocess.broker": ("Broker",),
    "inprocess.errors": ("FaultNeverFired", "FaultNotSeen", "GroupTimeout"),
    "inprocess.fault_rules": ("FaultBlock",),
    "inprocess.lasting": ("AsyncLasting", "AsyncUndo", "Undo"),
    "journal.rows": ("RequestRow",),
    "security.client_settings": ("ClientSecurity",),
    "server.fault_wait": ("NeverSoOften",),
    "server.wait_condition": ("BadWait",),
    "server.running": ("CannotStart", "JournalFailed", "NotAudited"),
}
"""The module that defines each public name. `make docs` writes `__init__.pyi`, which type checkers and editors read, from this table."""
MODULE_OF: Final = {name: module for module, names in HOMES.items() for name in names}
__all__ = sorted([*MODULE_OF, "__version__"])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, because `groupmock serve` needs none of them and must listen soon."""
    from importlib import import_module

    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{MODULE_OF[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return __all__
