"""The interface of a stage, on which an exchange is played, and the data types of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from groupmock_codec.declare import Message, Versions

from ..language.scope import Value


class Answer(NamedTuple):
    """An answer with the times (ms of the stage's clock) at which its request was sent and it was received."""

    api: str
    version: int
    message: Message
    sent_ms: float
    at_ms: float


@dataclass(frozen=True)
class Tolerance:
    """The deviations that times may have on a stage, in ms.

    `quiet`: how long 'parked' listens. `at_once`: the latest time that counts as at once. `early` and `late`: allowances around an `after`.
    `patience`: how long a due answer is awaited. `eventually`: how long that word waits.
    """

    quiet: float = 0
    at_once: float = 0
    early: float = 0
    late: float = 0
    patience: float = 0
    eventually: float = 10_000_000


class Opening(NamedTuple):
    """The options of a connection to be opened (`language.exchange.Connect`). `user` is the member's name for the broker, or None."""

    listener: str
    user: str | None = None
    mechanism: str | None = None
    certificate: str | None = None
    bare: bool = False


class Refused(Exception):
    """The broker refuses a member that authenticates itself; the text is the broker's."""


class NotOnThisStage(Exception):
    """The exchange needs what only another stage has: raw bytes, half-closed connections, or commands to the core."""


class TimeUp(Exception):
    """The dialogue has used up the time that it may take."""


class Closed(Exception):
    """The connection is closed, and everything received on it was read."""


class Stage(Protocol):
    """The connections of one dialogue to a broker, its clock, and what is known about the broker."""

    kind: str
    release: str
    tolerance: Tolerance
    topic_ids: dict[str, bytes]
    settings: Mapping[str, str]
    known: Mapping[str, str]
    """The values to which exchanges about security may refer: the passwords of users that every listener with SASL knows by PLAIN, by
    their names, and `client`, the name in the certificate of a client."""

    def group(self) -> str:
        """Return a group id that no other dialogue uses."""

    def now_ms(self) -> float: ...

    def wall_ms(self) -> int:
        """Return milliseconds since 1970 on the broker's clock, as far as it is known."""

    def versions(self, key: int) -> Versions | None:
        """Return the versions of an API that both sides have, or None if the broker does not offer the API."""

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        """Create a topic unless it exists, and return its real name on the broker. With `configs` the topic is new and not shared."""

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        """Send a request on the member's connection, which is opened at first use."""

    def open(self, member: str, opening: Opening) -> None:
        """Open a connection in the place of the member's present one. Raises Refused, NotOnThisStage. A broker that ends the connection
        shows by Closed of the next `answer`."""

    def send_bytes(self, member: str, data: bytes, token: bool = False) -> None:
        """Send raw bytes on the member's connection. `token`: the answer is a frame of bytes. Raises NotOnThisStage on a stage without
        bytes."""

    def heard(self, member: str, limit_ms: float) -> tuple[bytes, bool]:
        """Return all bytes that came on a bare connection until it was closed, or until `limit_ms`, and whether it was closed."""

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """Return the answer to the member's oldest unanswered request, or None after `limit_ms`. Raises Closed."""

    def pause(self, ms: float) -> None: ...

    def hang_up(self, member: str, how: str) -> None:
        """End the connection: `drops` closes it, `resets` sends RST, `finishes` closes our direction only."""

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        """Run a command of the core, or what does the same to a broker. Raises NotOnThisStage if nothing does."""

    def close(self) -> None: ...
