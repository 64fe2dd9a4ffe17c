"""What a row of the table of routes is, and what goes wrong in words and HTTP's numbers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ..core.steering import BadArguments, NoSuch, NotNow, UnknownCommand
from ..faults.plan import BadPlan
from ..faults.registry import UnknownRule
from ..server.running import NotAudited
from ..text.bounded import MAX_BYTES, BadText, bounded
from ..text.remedy import remedy
from .arrivals import TooMany

if TYPE_CHECKING:
    from .context import ControlContext

PREFIX: Final = "/v1"
JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"
HTML: Final = "text/html"
JSON_LINES: Final = "application/jsonl"


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """No fields."""


class NotInTime(Exception):
    """What was waited for did not happen; the text says what was there instead."""


class ControlCall(NamedTuple):
    """One request of a client, checked: `path` and `query` are structs made of texts, `body` of JSON; `raw` is the body as it came,
    `last_event` the header Last-Event-ID of whoever goes on with a stream."""

    path: Any
    query: Any
    body: Any
    raw: bytes
    last_event: str = ""


class Document(NamedTuple):
    """An answer that is no JSON. `media`: its type."""

    media: str
    body: bytes


class Stream(NamedTuple):
    """An answer that goes on: server-sent events (WHATWG HTML, 9.2). `close` is called once, whatever ends it."""

    parts: AsyncIterator[bytes]
    close: Callable[[], None]


Do = Callable[["ControlContext", ControlCall], Awaitable[Any]]


class Route(NamedTuple):
    """One row: METHOD path -> function. `verb`: the words of the command line that do the same. `answer`: a type, for the document."""

    method: str
    path: str
    verb: tuple[str, str] | None
    about: str
    do: Do
    params: type[msgspec.Struct] = Nothing
    query: type[msgspec.Struct] = Nothing
    body: type[msgspec.Struct] = Nothing
    answer: Any = dict[str, Any]
    text: bool = False
    """The body is a text that the function reads itself."""
    media: str = "application/toml"
    """What such a body may be instead of JSON."""
    most: int = MAX_BYTES
    """So many bytes may a body have."""
    gives: str = JSON
    """What the answer is."""
    free: bool = False
    """Without a token: it holds no data."""

    @property
    def full_path(self) -> str:
        """With the version in front, where the route has one."""
        return self.path if self.path in UNVERSIONED else PREFIX + self.path


UNVERSIONED: Final = ("/", "/page/{file}", "/metrics", "/openapi.json")

ERRORS: Final[tuple[tuple[type[Exception], int], ...]] = (
    (NotInTime, 408),
    (TooMany, 503),
    (NotNow, 409),
    (NotAudited, 409),
    (NoSuch, 404),
    (UnknownRule, 404),
    (UnknownCommand, 404),
    (BadArguments, 400),
    (BadPlan, 400),
    (msgspec.ValidationError, 400),
    (msgspec.DecodeError, 400),
    # Last: CannotSteer's kinds, UnknownCommand and BadPlan are ValueErrors too.
    (ValueError, 400),
)
"""What a function raises -> status of the answer; the first that fits. Anything else is a defect: 500."""


def status_of(error: Exception) -> int | None:
    """The status that an error is answered with; None: a defect."""
    return next((status for kind, status in ERRORS if isinstance(error, kind)), None)


def said(error: Exception) -> str:
    """An error as one sentence."""
    # str() of a KeyError is its text in quotes.
    text = str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)
    return " ".join(text.split())


def read_strings(texts: dict[str, str], into: type[msgspec.Struct], what: str) -> Any:
    """Path parameters or a query as a struct: texts become numbers where those are wanted. Raises ValueError, with the place named."""
    try:
        return msgspec.convert(texts, into, strict=False)
    except msgspec.ValidationError as wrong:
        raise ValueError(f"{what}: {wrong} ({remedy(str(wrong), into)})") from None


def read_body(raw: bytes, into: type[msgspec.Struct]) -> Any:
    """A JSON body; none at all is {}. Raises ValueError, with the place named."""
    try:
        return msgspec.json.decode(bounded(raw).strip() or "{}", type=into)
    except msgspec.ValidationError as wrong:
        raise ValueError(f"body: {wrong} ({remedy(str(wrong), into)})") from None
    except BadText as bad:
        raise ValueError(f"body: {bad}") from None
    except msgspec.DecodeError as broken:
        raise ValueError(f"body: not JSON: {broken}") from None


def given(struct: msgspec.Struct) -> dict[str, Any]:
    """What was said, defaults left out, so that a journal holds no more than that."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(struct)}
    return {name: value for name, value in msgspec.to_builtins(struct).items() if value != defaults[name]}
