"""The names that a service imports to use Designs I, II and III with stock aiokafka 0.14 (docs/how-to/cooperative.md)."""

from __future__ import annotations

from ..errors import UnsupportedClient, require

try:
    from .assignor import CooperativeAssignor
    from .enforce import enforce_rebalance
    from .listener import CooperativeListener
    from .range_or_cooperative import RangeOrCooperative
    from .stop import stop_wholly
    from .twin import CooperativeConsumer
except ImportError:
    require("aiokafka")  # The version is checked first, so that a missing or unsupported aiokafka raises a clear error.
    raise

__all__ = [
    "CooperativeAssignor", "CooperativeConsumer", "CooperativeListener", "RangeOrCooperative", "UnsupportedClient", "enforce_rebalance",
    "stop_wholly",
]  # fmt: skip
