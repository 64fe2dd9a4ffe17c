"""groupmock: a mock Kafka cluster whose group coordinators can be watched, held still and broken on purpose.

from groupmock import Broker

with Broker(topics={"orders": 12}, seed=1) as broker:
    consumer = KafkaConsumer("orders", group_id="billing", bootstrap_servers=broker.bootstrap)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .inprocess.broker import AsyncBroker, Broker, GroupTimeout
    from .inprocess.fault_rules import FaultNeverFired, FaultNotSeen

__all__ = ["AsyncBroker", "Broker", "FaultNeverFired", "FaultNotSeen", "GroupTimeout", "__version__"]


def __getattr__(name: str) -> Any:
    """`Broker` and what belongs to it are loaded when they are asked for: `groupmock serve` never needs them and must be listening fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .inprocess import broker, fault_rules

    return getattr(fault_rules if name.startswith("Fault") else broker, name)
