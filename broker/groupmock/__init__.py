"""groupmock: a mock Kafka cluster whose group coordinators can be watched, held still and broken on purpose.

from groupmock import Broker

with Broker(topics={"orders": 12}, seed=1) as broker:
    consumer = KafkaConsumer("orders", group_id="billing", bootstrap_servers=broker.bootstrap)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .version import __version__

if TYPE_CHECKING:
    from .audit.verdicts import Audit
    from .config.resolve import ConfigError
    from .core.groups.view import GroupView, MemberView, State
    from .core.steering.offsets import Reset
    from .core.steering.register import CannotSteer
    from .data.facts import ConfigRow, PartitionFacts, TopicFacts
    from .data.lag import GroupLag, PartitionLag
    from .data.lines import BadLine
    from .data.log_record import Record
    from .data.seed import BadSeedData, SeedData, Seeded
    from .data.writing import Written
    from .faults.plan import BadPlan, Plan
    from .faults.registry import RuleReport, UnknownRule
    from .inprocess.both import GroupTimeout
    from .inprocess.broker import AsyncBroker, Broker
    from .inprocess.commands import AsyncLasting, AsyncUndo, Undo
    from .inprocess.fault_rules import AsyncFaultBlock, FaultBlock, FaultNeverFired, FaultNotSeen
    from .journal.rows import RequestRow
    from .server.fault_wait import NeverSoOften
    from .server.group_wait import BadWait
    from .server.running import CannotStart, JournalFailed, NotAudited

__all__ = [
    "AsyncBroker", "AsyncFaultBlock", "AsyncLasting", "AsyncUndo", "Audit", "BadLine", "BadPlan", "BadSeedData", "BadWait", "Broker",
    "CannotStart", "CannotSteer", "ConfigError", "ConfigRow", "FaultBlock", "FaultNeverFired", "FaultNotSeen", "GroupLag", "GroupTimeout",
    "GroupView", "JournalFailed", "MemberView", "NeverSoOften", "NotAudited", "PartitionFacts", "PartitionLag", "Plan", "Record",
    "RequestRow", "Reset", "RuleReport", "SeedData", "Seeded", "State", "TopicFacts", "Undo", "UnknownRule", "Written", "__version__",
]  # fmt: skip

HOMES: Final = {
    "audit.verdicts": ("Audit",),
    "config.resolve": ("ConfigError",),
    "core.groups.view": ("GroupView", "MemberView", "State"),
    "core.steering.offsets": ("Reset",),
    "core.steering.register": ("CannotSteer",),
    "data.facts": ("ConfigRow", "PartitionFacts", "TopicFacts"),
    "data.lag": ("GroupLag", "PartitionLag"),
    "data.lines": ("BadLine",),
    "data.seed": ("BadSeedData", "SeedData", "Seeded"),
    "data.writing": ("Written",),
    "server.fault_wait": ("NeverSoOften",),
    "faults.plan": ("BadPlan", "Plan"),
    "faults.registry": ("RuleReport", "UnknownRule"),
    "server.group_wait": ("BadWait",),
    "inprocess.both": ("GroupTimeout",),
    "inprocess.broker": ("AsyncBroker", "Broker"),
    "inprocess.commands": ("AsyncLasting", "AsyncUndo", "Undo"),
    "inprocess.fault_rules": ("AsyncFaultBlock", "FaultBlock", "FaultNeverFired", "FaultNotSeen"),
    "journal.rows": ("RequestRow",),
    "server.running": ("CannotStart", "JournalFailed", "NotAudited"),
    "data.log_record": ("Record",),
}
"""Module -> what it gives to the package: the imports above, for when the program runs."""


def __getattr__(name: str) -> Any:
    """Everything is loaded when it is asked for: `groupmock serve` needs none of it and must be listening fast."""
    from importlib import import_module

    for module, names in HOMES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f".{module}", __name__), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
