"""A request that was sent to a rig, with its outcome and its connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec import APIS

if TYPE_CHECKING:
    from ..core.effects import Lease
    from ..core.events import Request

WAITING: Final = "waiting"  # The request is queued behind another request of its connection.
PARKED: Final = "parked"  # The request waits for the core's answer.
ANSWERED: Final = "answered"
SILENT: Final = "silent"  # The request is done without an answer, as a Produce with acks=0.
ABANDONED: Final = "abandoned"  # The request will never be answered, so its connection is mute.
CLOSED: Final = "closed"  # The core closed the request's connection.
LOST: Final = "lost"  # The client closed the request's connection first.


class Ask:
    """A request that was sent to a rig, and its outcome. Times are ns on the rig's clock. `draws` are the ids that the fed dice give,
    and `drew` those that the request used."""

    __slots__ = ("_then", "answer", "connection", "done", "draws", "drew", "lease", "reason", "request", "sent", "status")

    def __init__(self, request: Request, connection: Connection, sent: int, draws: Sequence[str]) -> None:
        self.request = request
        self.connection = connection
        self.sent = sent
        self.draws = draws
        self.drew: list[str] = []
        self.status = WAITING
        self.answer: Any = None
        self.lease: Lease | None = None
        self.done: int | None = None
        self.reason: str | None = None
        """The reason why the request was abandoned or its connection closed."""
        self._then: Callable[[Any], object] | None = None

    def take(self, answer: Any) -> None:
        """Record the answer and call the callbacks."""
        self.status, self.answer = ANSWERED, answer
        if self._then is not None:
            self._then(answer)

    def then(self, callback: Callable[[Any], object]) -> None:
        """Call back with the answer, at once if the answer is there already."""
        self._then = callback
        if self.answer is not None:
            callback(self.answer)

    @property
    def ticket(self) -> int:
        """The number of the request in the rig's run."""
        return self.request.ticket

    @property
    def parked(self) -> bool:
        """True if the request may still be answered."""
        return self.status in (PARKED, WAITING)

    @property
    def error(self) -> int:
        """The answer's top-level error code. Raises AssertionError while there is no answer."""
        assert self.answer is not None, f"not answered: {self!r}"
        return int(self.answer.error_code)

    def __repr__(self) -> str:
        request = self.request
        because = f" ({self.reason})" if self.reason else ""
        return f"<{APIS[request.key].name} v{request.version}, connection {request.connection}, {self.status}{because}>"


class Connection:
    """A connection to a rig, which handles one request at a time (`flying`) while later requests wait. An abandoned request stays in
    flight for ever."""

    __slots__ = ("ended", "flying", "number", "waiting")

    def __init__(self, number: int) -> None:
        self.number = number
        self.flying: Ask | None = None
        self.ended = False
        self.waiting: deque[Ask] = deque()
