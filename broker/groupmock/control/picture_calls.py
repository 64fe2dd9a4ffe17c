"""The route GET /timeline/{group} answers with the picture of a group's last seconds."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ..core.steering.find import group_of
from .context import ControlContext
from .pictures import MOST_SECONDS
from .route import JSON, ControlCall, Document


class Window(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The number of seconds that a picture shows."""

    seconds: Annotated[int, Meta(description="the last so many seconds of the run", ge=1, le=MOST_SECONDS)] = 120


async def picture(context: ControlContext, call: ControlCall) -> Document:
    """Return the picture of a group. Raises NoSuch."""
    group_of(context.running.cluster, call.path.group)
    return Document(JSON, await context.pictures.of(call.path.group, call.query.seconds))
