"""What there is of transactional ids."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..data.transactions import TransactionDetails, TransactionRow
from .context import ControlContext
from .route import ControlCall


class TransactionPath(msgspec.Struct):
    """One transactional id."""

    transactional_id: Annotated[str, Meta(description="transactional id", min_length=1)]


class TransactionAsk(msgspec.Struct, forbid_unknown_fields=True):
    """How much of it."""

    story: Annotated[bool, Meta(description="false: without its story, which takes longest")] = True


async def transactions(context: ControlContext, call: ControlCall) -> list[TransactionRow]:
    """Every id that somebody coordinates."""
    return context.running.transactions()


async def transaction(context: ControlContext, call: ControlCall) -> TransactionDetails:
    """One id."""
    return await context.running.transaction(call.path.transactional_id, call.query.story)
