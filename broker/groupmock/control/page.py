"""The live page of a cluster consists of static files of `assets` and of the timeline, whose scripts use the other routes.

Its Content Security Policy (level 3, W3C) runs only scripts of this server and none inside the page, so that a name from a peer stays text.
Trusted types prevent scripts from making markup of a text.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from ..core.steering import NoSuch
from ..journal.rows import KINDS
from ..text.html_document import NOTHING
from ..timeline.forms.html import ASSETS, SCRIPTS, SECTIONS, TOOLS, as_data, style
from ..timeline.model import Timeline
from ..timeline.signs import STATES
from ..version import __version__
from .context import ControlContext
from .route import HTML, ControlCall, Document

POLICY: Final = (
    f"{NOTHING}; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
MEDIA: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
FOLDER: Final = "/page/"
HOME: Final = "page.html"


class PagePath(msgspec.Struct):
    """The path parameter that names a file."""

    file: Annotated[str, Meta(description="name of a file of the page")]


def is_part(path: str) -> bool:
    """True for the page and its files, which need no token because they contain no data."""
    return path == "/" or path.startswith(FOLDER)


async def index(context: ControlContext, call: ControlCall) -> Document:
    """Return the live page's document, which says of the cluster only whether a token is needed."""
    return Document(HTML, _home(context.running.config.token is not None))


async def part(context: ControlContext, call: ControlCall) -> Document:
    """Return a file of the page. Raises NoSuch."""
    document = _parts().get(call.path.file)
    if document is None:
        raise NoSuch(f"the page has no file {call.path.file!r}: it has {', '.join(_parts())}")
    return document


@cache
def _home(token: bool) -> bytes:
    kinds = "".join(f"<option>{kind}</option>" for kind in KINDS)
    nothing = as_data(Timeline(__version__, [], [], [], [], []))
    text = (files("groupmock.control") / "assets" / HOME).read_text(encoding="utf-8")
    for mark, instead in (("TOOLS", TOOLS), ("SECTIONS", SECTIONS), ("DATA", nothing), ("KINDS", kinds)):
        text = text.replace(f"<!-- {mark} -->", instead.strip())
    return text.replace("<body>", '<body data-token="wanted">' if token else "<body>").encode()


@cache
def _parts() -> dict[str, Document]:
    own = files("groupmock.control") / "assets"
    there = {each.name: each.read_bytes() for each in own.iterdir()} | {name: (ASSETS / name).read_bytes() for name in SCRIPTS}
    there["timeline.css"] = style().encode()
    there["page.css"] += "".join(f'[data-state="{state}"] {{ --hue: {colour}; }}\n' for state, colour in STATES.items()).encode()
    return {name: Document(MEDIA[kind], data) for name, data in sorted(there.items()) if (kind := name.rpartition(".")[2]) in MEDIA}
