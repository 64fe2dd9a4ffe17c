"""Where an exchange is played: the contract of a stage, and what comes back from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from groupmock_codec.declare import Message, Versions

from ..language.scope import Value


class Answer(NamedTuple):
    """An answer, with the times (ms of the stage's clock) at which its request went out and it came in."""

    api: str
    version: int
    message: Message
    sent_ms: float
    at_ms: float


@dataclass(frozen=True)
class Tolerance:
    """How exact times are on a stage, in ms. `quiet`: how long 'parked' listens; `at_once`: the latest that still counts as at once;
    `early` and `late`: around an `after`; `patience`: how long an answer that is due is awaited; `eventually`: how far that word looks
    ahead."""

    quiet: float = 0
    at_once: float = 0
    early: float = 0
    late: float = 0
    patience: float = 0
    eventually: float = 10_000_000


class NotOnThisStage(Exception):
    """The exchange does something that exists on another stage only: bytes, half-closed connections, commands of the core."""


class TimeUp(Exception):
    """The dialogue has used up its time."""


class Closed(Exception):
    """The connection is closed and everything that came on it was read."""


class Stage(Protocol):
    """One dialogue's connections to a broker, its clock and what is known of the broker."""

    kind: str
    release: str
    tolerance: Tolerance
    topic_ids: dict[str, bytes]
    settings: Mapping[str, str]

    def group(self) -> str:
        """A group id that nobody else uses."""

    def now_ms(self) -> float:
        """The stage's clock."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970, by the broker's clock as far as it is known."""

    def versions(self, key: int) -> Versions | None:
        """The versions of an API that both sides have; None: not offered."""

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        """Make sure that a topic exists and tell its real name. With `configs` it is new, and nobody else's."""

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        """Send a request on the member's connection, opened at first use."""

    def send_bytes(self, member: str, data: bytes) -> None:
        """Send bytes as they are. Raises NotOnThisStage where there are none."""

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """The answer to the member's oldest unanswered request; waits up to `limit_ms`. Raises Closed."""

    def pause(self, ms: float) -> None:
        """Let time pass."""

    def hang_up(self, member: str, how: str) -> None:
        """`drops` closes the connection, `resets` does it without farewell, `finishes` closes our direction only."""

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        """A command of the core; other stages raise NotOnThisStage."""

    def close(self) -> None:
        """End of the dialogue."""
