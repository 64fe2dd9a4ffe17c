"""The routes GET /timeline/{group} and /timeline/{group}/page answer with the picture of a group's last seconds."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from ..core.steering.find import group_of
from ..timeline.forms import html
from ..timeline.model import Timeline
from .context import ControlContext
from .pictures import MOST_SECONDS
from .route import HTML, JSON, ControlCall, Document

PAGE: Final = "groupmock-timeline.html"


class Window(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The number of seconds that a picture shows."""

    seconds: Annotated[int, Meta(description="the last so many seconds of the run", ge=1, le=MOST_SECONDS)] = 120


class PictureAsk(Window, kw_only=True, forbid_unknown_fields=True):
    """The number of seconds that a picture shows, and its form."""

    scene: Annotated[bool, Meta(description="as the page draws it: rows of signs and words instead of facts")] = False


async def picture(context: ControlContext, call: ControlCall) -> Document:
    """Return the picture of a group. Raises NoSuch."""
    return Document(JSON, await _drawn(context, call, call.query.scene))


async def page(context: ControlContext, call: ControlCall) -> Document:
    """Return the picture of a group as the page that `groupmock timeline` writes. Raises NoSuch."""
    # The page is made from the JSON on another thread: that takes up to 0.2 s, and the structures of the picture grow on this thread.
    return Document(HTML, await asyncio.to_thread(_page, await _drawn(context, call)), PAGE)


async def _drawn(context: ControlContext, call: ControlCall, scene: bool = False) -> bytes:
    group_of(context.running.cluster, call.path.group)
    return await context.pictures.of(call.path.group, call.query.seconds, scene)


def _page(picture: bytes) -> bytes:
    return html.write(msgspec.json.decode(picture, type=Timeline)).encode()
