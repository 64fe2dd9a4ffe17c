"""groupmock: a mock Kafka cluster whose group coordinators can be watched, held still and broken on purpose.

    from groupmock import Broker

    with Broker(topics={"orders": 12}, seed=1) as broker:
        consumer = KafkaConsumer("orders", group_id="billing", bootstrap_servers=broker.bootstrap)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .inprocess.broker import Broker

__all__ = ["Broker", "__version__"]


def __getattr__(name: str) -> Any:
    """`Broker` is loaded when it is asked for: `groupmock serve` never needs it and must be listening fast."""
    if name == "Broker":
        from .inprocess.broker import Broker

        return Broker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
