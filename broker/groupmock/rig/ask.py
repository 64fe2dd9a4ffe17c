"""A request of a rig with its outcome, and the connection that it came by."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec import APIS

if TYPE_CHECKING:
    from ..core.effects import Lease
    from ..core.events import Request

WAITING: Final = "waiting"  # queued behind another request of its connection
PARKED: Final = "parked"  # the core has not answered yet
ANSWERED: Final = "answered"
SILENT: Final = "silent"  # done without an answer: Produce with acks=0
ABANDONED: Final = "abandoned"  # never to be answered: its connection is mute
CLOSED: Final = "closed"  # the core closed its connection
LOST: Final = "lost"  # its client closed the connection first


class Ask:
    """One request and its outcome. Times are ns on the rig's clock. `draws` are the ids that the fed dice give, `drew` those that it took.
    """

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
        """The reason why it was abandoned or closed."""
        self._then: Callable[[Any], object] | None = None

    def take(self, answer: Any) -> None:
        """Record the answer and call back."""
        self.status, self.answer = ANSWERED, answer
        if self._then is not None:
            self._then(answer)

    def then(self, callback: Callable[[Any], object]) -> None:
        """Call back with the answer, at once if it is there."""
        self._then = callback
        if self.answer is not None:
            callback(self.answer)

    @property
    def ticket(self) -> int:
        """The number of the request in the run."""
        return self.request.ticket

    @property
    def parked(self) -> bool:
        """True if an answer may still come."""
        return self.status in (PARKED, WAITING)

    @property
    def error(self) -> int:
        """The answer's top-level error code. AssertionError while there is no answer."""
        assert self.answer is not None, f"not answered: {self!r}"
        return int(self.answer.error_code)

    def __repr__(self) -> str:
        request = self.request
        because = f" ({self.reason})" if self.reason else ""
        return f"<{APIS[request.key].name} v{request.version}, connection {request.connection}, {self.status}{because}>"


class Connection:
    """A connection, which handles one request at a time (`flying`) while the others wait. An abandoned request stays in flight for ever."""

    __slots__ = ("ended", "flying", "number", "waiting")

    def __init__(self, number: int) -> None:
        self.number = number
        self.flying: Ask | None = None
        self.ended = False
        self.waiting: deque[Ask] = deque()
