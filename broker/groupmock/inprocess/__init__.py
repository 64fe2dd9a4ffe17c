"""The mock cluster in the caller's process: `Broker`, and `AsyncBroker` with the same names as coroutines."""

from __future__ import annotations
