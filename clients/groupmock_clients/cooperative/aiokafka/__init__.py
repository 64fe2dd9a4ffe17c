"""Designs I, II and III for stock aiokafka 0.14 (docs/cooperative.md): what a service imports."""

from __future__ import annotations

from ..errors import UnsupportedClient
from .assignor import CooperativeAssignor, CooperativeListener, enforce_rebalance
from .range_or_cooperative import RangeOrCooperative
from .stop import stop_wholly
from .twin import CooperativeConsumer

__all__ = [
    "CooperativeAssignor", "CooperativeConsumer", "CooperativeListener", "RangeOrCooperative", "UnsupportedClient", "enforce_rebalance",
    "stop_wholly",
]  # fmt: skip
