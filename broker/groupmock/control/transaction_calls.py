"""Routes for transactional ids and their transactions."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..data.transactions import TransactionDetails, TransactionRow
from .context import ControlContext
from .route import ControlCall


class TransactionPath(msgspec.Struct):
    """The path parameter that names a transactional id."""

    transactional_id: Annotated[str, Meta(description="transactional id", min_length=1)]


class TransactionAsk(msgspec.Struct, forbid_unknown_fields=True):
    """The parts of a transactional id that an answer includes."""

    story: Annotated[bool, Meta(description="false: without its story, which takes longest")] = True


async def transactions(context: ControlContext, call: ControlCall) -> list[TransactionRow]:
    """Return one row for each transactional id that has a coordinator."""
    return context.running.transactions()


async def transaction(context: ControlContext, call: ControlCall) -> TransactionDetails:
    """Return one transactional id with its open transaction and story."""
    return await context.running.transaction(call.path.transactional_id, call.query.story)
