"""Designs I, II and III for stock kafka-python 3.0 (docs/cooperative.md): what a service imports."""

from __future__ import annotations

from ..errors import UnsupportedClient
from .assignor import CooperativeAssignor, CooperativeListener, enforce_rebalance
from .twin import CooperativeConsumer

__all__ = ["CooperativeAssignor", "CooperativeConsumer", "CooperativeListener", "UnsupportedClient", "enforce_rebalance"]
