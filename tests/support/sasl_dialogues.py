"""Dialogues of a client that authenticates itself, over sockets, so that those of a broker can be compared with those of another."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

from groupmock.rig.wire import read_response, request
from groupmock.security.client_side import bearer_token
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest

LATE_S = 0.09
"""An answer that takes longer is late: a failed authentication is answered after at least 100 ms."""
PATIENCE_S = 5.0


class Talk:
    """A connection to a broker. `said` collects what the peer answered."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._data = b""
        self.said: list[Any] = []

    def raw(self, data: bytes, note: bool = True) -> bytes | None:
        """Send bytes and return the next frame, or None if the connection was closed without one."""
        began = time.monotonic()
        try:
            self._socket.sendall(data)
            frame = self._frame()
        except TimeoutError:
            self.said.append("silent")
            return None
        except OSError:
            frame = None
        late = time.monotonic() - began >= LATE_S
        if note:
            self.said.append(("late" if late else "at once", "closed" if frame is None else frame.hex()))
        return frame

    def ask(self, key: int, version: int, message: Any, shown: Callable[[Any], Any] = str) -> Any:
        """Send a request and note the answer as `shown`, and whether it was late."""
        began = time.monotonic()
        frame = self.raw(request(key, version, message, 7), note=False)
        late = "late" if time.monotonic() - began >= LATE_S else "at once"
        if frame is None:
            self.said.append((late, "closed"))
            return None
        answer = read_response(key, version, frame, 7)[1]
        # The rest of a token's life depends on the moment.
        self.said.append(
            (late, re.sub(r"session_lifetime_ms=\d{5,}", "session_lifetime_ms=long", shown(answer)) if shown is str else shown(answer))
        )
        return answer

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> Any:
        return self.ask(17, version, SaslHandshakeRequest(mechanism=mechanism))

    def token(self, token: bytes, version: int = 2, shown: Callable[[Any], Any] = str) -> Any:
        return self.ask(36, version, SaslAuthenticateRequest(auth_bytes=token), shown)

    def close(self) -> None:
        self._socket.close()

    def end(self) -> None:
        """Note whether the connection still serves."""
        self.ask(3, 9, MetadataRequest(topics=[]), lambda answer: "served")

    def _frame(self) -> bytes | None:
        while len(self._data) < 4 or len(self._data) < 4 + int.from_bytes(self._data[:4], "big"):
            got = self._socket.recv(65_536)
            if not got:
                return None
            self._data += got
        size = int.from_bytes(self._data[:4], "big")
        frame, self._data = self._data[4 : 4 + size], self._data[4 + size :]
        return frame


class Dialogue(NamedTuple):
    """A dialogue on a listener."""

    name: str
    play: Callable[[Talk], None]
    listener: str = "SASL"


def bearer(token: str, *then: bytes, authorization: str = "") -> Callable[[Talk], None]:
    def play(talk: Talk) -> None:
        talk.handshake("OAUTHBEARER")
        talk.token(bearer_token(token, authorization), shown=lambda each: (each.error_code, each.error_message, each.auth_bytes))
        for each in then:
            talk.token(each)
        talk.end()

    return play


def played(dialogues: Iterable[Dialogue], addresses: dict[str, str]) -> Iterator[tuple[str, list[Any]]]:
    """Play each dialogue with a listener that has an address. What was late may have been so by the load of the machine, so each dialogue
    is played up to three times, and what came at once in one of them came at once."""
    for dialogue in dialogues:
        if dialogue.listener not in addresses:
            continue
        runs: list[list[Any]] = []
        while len(runs) < 3 and not (runs and "late" not in repr(runs[-1])):
            with closing(Talk(addresses[dialogue.listener])) as talk:
                dialogue.play(talk)
            runs.append(talk.said)
        yield dialogue.name, [min(steps, key=repr) for steps in zip(*runs, strict=False)]


def differences(theirs: dict[str, list[Any]], ours: dict[str, list[Any]]) -> str:
    """Return a text that names the dialogues with other answers, or an empty one."""
    wrong = [f"{name}:\n  Kafka     {theirs[name]}\n  groupmock {ours[name]}" for name in theirs if theirs[name] != ours[name]]
    return "\n".join([f"{len(wrong)} of {len(theirs)} dialogues differ:", *wrong]) if wrong else ""
