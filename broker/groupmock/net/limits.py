"""Limits on everything that a peer controls, under Kafka's names where Kafka has one (declared like `core.settings`)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..core.settings import knob


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one peer may cost. Sizes in bytes."""

    socket_request_max_bytes: Annotated[int, knob("socket.request.max.bytes", "largest frame that is read; a longer one closes its connection", 1)] = (
        104_857_600
    )
    max_connections: Annotated[int, knob("max.connections", "most connections at a time; more are closed at once", 1)] = 2**31 - 1
    queued_max_request_bytes: Annotated[
        int, knob("queued.max.request.bytes", "most bytes read ahead on one connection while its request is in flight", 1)
    ] = 1_048_576
