"""A scripted Kafka node whose answers a test's function writes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from groupmock.rig.wire import framed
from groupmock_codec import APIS
from groupmock_codec.api_keys import METADATA
from groupmock_codec.messages.k03_metadata import MetadataResponse, MetadataResponseBroker

Answer = Callable[[socket.socket, bytes], None]
"""A function of connection and request frame that writes an answer or closes the connection."""


class ScriptedUpstream:
    """A cluster of the single node 1 at `address`. It answers Metadata by itself; `answer` handles every other request on every
    connection."""

    def __init__(self, answer: Answer, brokers: Callable[[], list[tuple[int, str, int]]] | None = None) -> None:
        self._answer = answer
        self._brokers = brokers or (lambda: [(1, *self.where)])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.where: tuple[str, int] = self._listener.getsockname()[:2]
        self.frames: list[bytes] = []
        self.connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        return f"{self.where[0]}:{self.where[1]}"

    def stop_listening(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def close(self) -> None:
        self.stop_listening()
        for each in self.connections:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(60)
        for each in self.connections:
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                accepted, _ = self._listener.accept()
                self.connections.append(accepted)
                thread = threading.Thread(target=self._serve, args=(accepted,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, link: socket.socket) -> None:
        with suppress(OSError), link.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                frame = stream.read(int.from_bytes(head, "big"))
                if frame[:2] == b"\0\3":
                    link.sendall(self._metadata(int.from_bytes(frame[2:4], "big"), frame[4:8]))
                else:
                    self.frames.append(frame)
                    self._answer(link, frame)
            link.shutdown(socket.SHUT_RDWR)  # Kafka also closes its side when the client has shut down its own.

    def _metadata(self, version: int, correlation: bytes) -> bytes:
        brokers = [MetadataResponseBroker(node_id=number, host=host, port=port) for number, host, port in self._brokers()]
        api = APIS[METADATA].response
        return framed(correlation + (b"\0" if api.flexible(version) else b"") + api.encode(version, MetadataResponse(brokers=brokers)))


@contextmanager
def upstream(answer: Answer, **more: Any) -> Iterator[ScriptedUpstream]:
    made = ScriptedUpstream(answer, **more)
    try:
        yield made
    finally:
        made.close()


def silent(link: socket.socket, frame: bytes) -> None: ...


def echoes(link: socket.socket, frame: bytes) -> None:
    """Answer every request with only its correlation id."""
    link.sendall(framed(frame[4:8]))
