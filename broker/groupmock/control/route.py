"""Define the rows of the table of routes, and turn errors into sentences and HTTP statuses."""

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
FORM: Final = "application/x-www-form-urlencoded"


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """A structure without fields, for a route without parameters, query or body."""


class NotInTime(Exception):
    """Raised if a wait ended without success. The text says what there was instead."""


class ControlCall(NamedTuple):
    """An HTTP request after its path, query and body were checked. `path` and `query` are structures made from texts, `body` from JSON;
    `raw` is the body as it came; `last_event` is the header Last-Event-ID of a client that resumes a stream, `authorization` the header
    Authorization."""

    path: Any
    query: Any
    body: Any
    raw: bytes
    last_event: str = ""
    authorization: str = ""


class Document(NamedTuple):
    """An answer that is not JSON. `media` is its content type. A browser saves a document with a `file` name instead of showing it."""

    media: str
    body: bytes
    file: str = ""


class Stream(NamedTuple):
    """An answer that is a stream of server-sent events (WHATWG HTML, 9.2). `close` is called once, however the stream ends."""

    parts: AsyncIterator[bytes]
    close: Callable[[], None]


Do = Callable[["ControlContext", ControlCall], Awaitable[Any]]


class Route(NamedTuple):
    """A row of the table of routes, which maps a method and a path to a function. `verb` has the words of the command line that do the
    same; `answer` is a type for the OpenAPI document."""

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
    """True if the body is a text that the route's function parses itself."""
    media: str = "application/toml"
    """The content type that a text body may have instead of JSON."""
    most: int = MAX_BYTES
    """The largest size of a body in bytes."""
    gives: str = JSON
    """The content type of the answer."""
    free: bool = False
    """True if no token of the control API is needed, because the answer contains no data of the cluster."""
    refuses: tuple[int, ...] = ()
    """HTTP statuses that the answer may have beside those that follow from the method, the parameters and the body."""

    @property
    def full_path(self) -> str:
        """The path with the version in front, unless the route has no version."""
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
    # ValueError is last, because NoSuch, NotNow, UnknownCommand and BadPlan are ValueErrors too.
    (ValueError, 400),
)
"""The HTTP status for each exception of a route's function; the first matching class counts. Any other exception is a defect: 500."""


def status_of(error: Exception) -> int | None:
    """Return the status that an error is answered with, or None for a defect."""
    return next((status for kind, status in ERRORS if isinstance(error, kind)), None)


def said(error: Exception) -> str:
    """Return an error's message as one sentence."""
    # str() would put the text of a KeyError in quotes.
    text = str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)
    return " ".join(text.split())


def read_strings(texts: dict[str, str], into: type[msgspec.Struct], what: str) -> Any:
    """Convert the texts of path parameters or of a query to a struct, with numbers for fields that are numbers. Raises ValueError, which
    names the place."""
    try:
        return msgspec.convert(texts, into, strict=False)
    except msgspec.ValidationError as wrong:
        raise ValueError(f"{what}: {wrong} ({remedy(str(wrong), into)})") from None


def read_body(raw: bytes, into: type[msgspec.Struct]) -> Any:
    """Convert a JSON body to a struct; an empty body is {}. Raises ValueError, which names the place."""
    try:
        return msgspec.json.decode(bounded(raw).strip() or "{}", type=into)
    except msgspec.ValidationError as wrong:
        raise ValueError(f"body: {wrong} ({remedy(str(wrong), into)})") from None
    except BadText as bad:
        raise ValueError(f"body: {bad}") from None
    except msgspec.DecodeError as broken:
        raise ValueError(f"body: not JSON: {broken}") from None


def given(struct: msgspec.Struct) -> dict[str, Any]:
    """Return the fields that differ from their defaults, so that the journal has only what a client gave."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(struct)}
    return {name: value for name, value in msgspec.to_builtins(struct).items() if value != defaults[name]}
