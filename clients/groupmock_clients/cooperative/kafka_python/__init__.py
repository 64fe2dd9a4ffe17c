"""The names that a service imports to use Designs I, II and III with stock kafka-python 3.0 (docs/how-to/cooperative.md)."""

from __future__ import annotations

from ..errors import UnsupportedClient, require

try:
    from .assignor import CooperativeAssignor
    from .enforce import enforce_rebalance
    from .listener import CooperativeListener
    from .twin import CooperativeConsumer
except ImportError:
    require("kafka-python")  # The version is checked first, so that a missing or unsupported kafka-python raises a clear error.
    raise

__all__ = ["CooperativeAssignor", "CooperativeConsumer", "CooperativeListener", "UnsupportedClient", "enforce_rebalance"]
