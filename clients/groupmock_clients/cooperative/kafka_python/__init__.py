"""Designs I, II and III for stock kafka-python 3.0 (docs/how-to/cooperative.md): what a service imports."""

from __future__ import annotations

from ..errors import UnsupportedClient, require

try:
    from .assignor import CooperativeAssignor
    from .enforce import enforce_rebalance
    from .listener import CooperativeListener
    from .twin import CooperativeConsumer
except ImportError:
    require("kafka-python")  # not installed, or a version without what these stand on: told as such
    raise

__all__ = ["CooperativeAssignor", "CooperativeConsumer", "CooperativeListener", "UnsupportedClient", "enforce_rebalance"]
