"""Designs I, II and III for stock kafka-python 3.0 (docs/how-to/cooperative.md), as a service imports them."""

from __future__ import annotations

from ..errors import UnsupportedClient, require

try:
    from .assignor import CooperativeAssignor
    from .enforce import enforce_rebalance
    from .listener import CooperativeListener
    from .twin import CooperativeConsumer
except ImportError:
    require("kafka-python")  # raises a clear error if kafka-python is missing or of another version
    raise

__all__ = ["CooperativeAssignor", "CooperativeConsumer", "CooperativeListener", "UnsupportedClient", "enforce_rebalance"]
