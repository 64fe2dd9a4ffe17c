"""Routes for the records of share groups."""

from __future__ import annotations

from ..data.in_flight import SharePartitionRow
from .context import ControlContext
from .route import ControlCall


async def in_flight(context: ControlContext, call: ControlCall) -> list[SharePartitionRow]:
    """Return a row for each partition that members of the group fetch."""
    return context.running.in_flight(call.path.group)
