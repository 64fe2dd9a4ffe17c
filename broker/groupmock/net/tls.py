"""TLS between a socket and a connection: the connection sees plain bytes, and this module is its transport.

The TLS library of Python is used without its asyncio part, because that sends no alert when a handshake fails, whereas Kafka's clients
read from the alert what is wrong (SEC-60 to SEC-63), and because it gives each connection buffers of a quarter of a megabyte before the
first byte has come. Here a peer costs nothing but its socket until it has sent a whole TLS record, handshakes of many peers take turns of
about 2 ms between two turns of the loop, so that nobody waits for them, and of too many handshakes the one that has waited longest is
given up (`Handshakes`), because each has about 50 kB in OpenSSL.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, cast

from groupmock_codec.units import NS_PER_MS

if TYPE_CHECKING:
    from .connection import Connection

HANDSHAKE: Final = 0x16
"""The type of the TLS record with which a client begins (RFC 8446, section 5.1), and of any later one that renegotiates."""
RECORD_HEAD: Final = 5
TLS_MAJOR: Final = 3
NO_TLS: Final = b"\x15\x03\x03\x00\x02\x02\x50"
"""The alert that Java's TLS sends to a peer whose first bytes are no TLS: fatal, internal_error (SEC-63)."""
PLAIN_BYTES: Final = "plain bytes instead of a TLS handshake: this listener speaks TLS: set security.protocol to that of the listener"
READ_AT_ONCE: Final = 65_536
MOST_HANDSHAKE_BYTES: Final = 65_536
"""A peer may send this many bytes before its handshake is complete. A chain of certificates has a few kilobytes."""
SLICE_NS: Final = 2 * NS_PER_MS
MOST_UNDER_WAY: Final = 1000
"""At most this many handshakes are under way at a time."""
LARGEST_RECORD: Final = 16_384 + 2048
"""A TLS record has at most this many bytes after its head (RFC 5246, section 6.2.3)."""

NOT_TRUSTED: Final = "the client does not trust this listener's certificate: give it the authority's certificate (ca.pem)"
MEANINGS: Final = {
    "TLSV1_ALERT_UNKNOWN_CA": NOT_TRUSTED,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": NOT_TRUSTED,
    "SSLV3_ALERT_BAD_CERTIFICATE": "the client refuses this listener's certificate: its names have to contain the client's host name",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the client refuses this listener's certificate, because it has expired",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client sent no certificate, but ssl.client.auth is required: give it a key and certificate",
    "CERTIFICATE_VERIFY_FAILED": "the client's certificate is not accepted",
    "UNSUPPORTED_PROTOCOL": "the client speaks no version of TLS that is enabled (ssl.enabled.protocols)",
    "NO_SHARED_CIPHER": "client and listener have no cipher in common",
}
"""Says for OpenSSL's reason of a failed handshake what is wrong and what can be done."""


class Handshakes:
    """The handshakes of which bytes have arrived, handled for about 2 ms between two turns of the loop: first those that are under way, so
    that they end, then new ones, each in their order."""

    def __init__(
        self, slice_ns: int = SLICE_NS, call_soon: Callable[[Callable[[], None]], object] | None = None, most: int = MOST_UNDER_WAY
    ) -> None:
        self._new: deque[TlsTransport] = deque()
        self._going_on: deque[TlsTransport] = deque()
        self._under_way: dict[TlsTransport, None] = {}  # The one that has waited longest for its client is the first.
        self._most = most
        self._slice_ns = slice_ns
        self._call_soon = call_soon
        self._ordered = False

    def add(self, transport: TlsTransport) -> None:
        """Handle the bytes of a handshake in its turn."""
        (self._going_on if transport in self._under_way else self._new).append(transport)
        if not self._ordered:
            self._order()

    def _order(self) -> None:
        self._ordered = True
        (self._call_soon or asyncio.get_running_loop().call_soon)(self._turn)

    def _turn(self) -> None:
        self._ordered = False
        end = perf_counter_ns() + self._slice_ns
        while self._going_on or self._new:
            transport = (self._going_on or self._new).popleft()
            self.over(transport)
            if transport.shake():
                self._under_way[transport] = None
                if len(self._under_way) > self._most:
                    next(iter(self._under_way)).give_up(self._most)
            if perf_counter_ns() > end:
                break
        if self._going_on or self._new:
            self._order()

    def over(self, transport: TlsTransport) -> None:
        """Forget a handshake that has ended, if it was under way."""
        self._under_way.pop(transport, None)


class TlsTransport(asyncio.Transport, asyncio.Protocol):
    """The transport of a connection, and the protocol of its socket. `known(certificate)` is called after the handshake with the client's
    certificate (DER, None without one); it returns the reason why the client is not accepted, or None. `with_fault(which)` returns a
    context whose certificate no correct client accepts."""

    def __init__(
        self,
        connection: Connection,
        context: ssl.SSLContext,
        handshakes: Handshakes,
        known: Callable[[Connection, bytes | None], str | None],
        with_fault: Callable[[str], ssl.SSLContext] | None = None,
    ) -> None:
        super().__init__()
        self._connection = connection
        self._context = context
        self._handshakes = handshakes
        self._known = known
        self._with_fault = with_fault
        self._socket: asyncio.Transport | None = None
        self._received = bytearray()  # The bytes of the handshake that were not handled yet.
        self._taken = 0  # The number of bytes that came before the handshake was complete.
        self._waits = False  # True while the handshake waits for its turn.
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        self._done = False
        self._failed = False
        self._records: _Records | None = _Records()  # None if the version has no renegotiation.

    # -- the protocol of the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast(asyncio.Transport, transport)  # uvloop's transport does not derive from asyncio's class.
        self._connection.connection_made(self)

    def data_received(self, data: bytes) -> None:
        """Decrypt bytes for the connection, or keep them for the handshake."""
        if self._failed:
            return
        if self._done:
            self._decrypt(data)
            return
        self._connection.active = self._connection.driver.now()
        self._taken += len(data)
        if self._taken > MOST_HANDSHAKE_BYTES:
            self._fail(f"a TLS handshake of more than {MOST_HANDSHAKE_BYTES} bytes")
            return
        self._received += data
        if not self._waits and (self._tls is not None or _whole(self._received)):
            self._waits = True
            self._handshakes.add(self)

    def eof_received(self) -> bool:
        """Note that the peer sends no more. Without a complete handshake there is nothing to wait for."""
        return self._done and self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the connection that its socket is closed."""
        self._failed = True
        self._handshakes.over(self)
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()

    def show_certificate(self, which: str) -> None:
        """Show a certificate with a fault in the handshake, which has not begun."""
        if self._with_fault is not None:
            self._context = self._with_fault(which)

    def give_up(self, most: int) -> None:
        """End a handshake, because too many are under way."""
        self._fail(f"too many TLS handshakes: more than {most} are under way, and this one has waited longest for its client")

    def shake(self) -> bool:
        """Continue the handshake with the bytes that have arrived. Return whether it is under way."""
        self._waits = False
        if self._failed:
            return False
        if self._tls is None:
            if self._received[0] != HANDSHAKE:
                self._send(NO_TLS)
                self._fail(PLAIN_BYTES)
                return False
            self._tls = self._context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        if self._records is not None:
            self._records.begin_handshake(self._received)
        self._incoming.write(self._received)
        self._received.clear()
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return True
        except ssl.SSLError as refused:
            self._flush()  # The alert says to the client what is wrong.
            self._fail(_in_words(refused))
            return False
        self._flush()
        self._done = True
        refused_by_name = self._known(self._connection, self._tls.getpeercert(binary_form=True))
        if refused_by_name is not None:
            self._fail(refused_by_name)
            return False
        if self._tls.version() != "TLSv1.2":
            self._records = None
        self._decrypt(b"")
        return False

    # -- the transport of the connection

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._tls is None or not self._done or self._failed:
            return
        self._tls.write(data)
        self._flush()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return bool(self._socket is not None and self._socket.can_write_eof())

    def write_eof(self) -> None:
        """Say in TLS that no more bytes follow, and close this half of the socket."""
        self._say_bye()
        if self._socket is not None:
            self._socket.write_eof()

    def close(self) -> None:
        self._say_bye()
        if self._socket is not None:
            self._socket.close()

    def abort(self) -> None:
        if self._socket is not None:
            self._socket.abort()

    def is_closing(self) -> bool:
        return self._socket is None or self._socket.is_closing()

    def pause_reading(self) -> None:
        if self._socket is not None:
            self._socket.pause_reading()

    def resume_reading(self) -> None:
        if self._socket is not None:
            self._socket.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._socket is not None:
            self._socket.set_write_buffer_limits(high=high, low=low)

    def get_write_buffer_size(self) -> int:
        return self._socket.get_write_buffer_size() if self._socket is not None else 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._socket.get_extra_info(name, default) if self._socket is not None else default

    # -- inside

    def _decrypt(self, data: bytes) -> None:
        assert self._tls is not None
        if self._records is not None and self._records.begin_handshake(data):
            self._fail("the client began a TLS renegotiation, which is not supported")
            return
        self._incoming.write(data)
        plain, over = [], False
        try:
            while piece := self._tls.read(READ_AT_ONCE):
                plain.append(piece)
            over = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            over = True
        except ssl.SSLError as broken:
            self._flush()
            self._fail(_in_words(broken))
            return
        self._flush()
        if plain:
            self._connection.data_received(plain[0] if len(plain) == 1 else b"".join(plain))
        if over and not self._connection.eof_received():
            self.close()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._send(self._outgoing.read())

    def _send(self, data: bytes) -> None:
        if self._socket is not None and not self._socket.is_closing():
            self._socket.write(data)

    def _say_bye(self) -> None:
        """Write the TLS alert that says that the stream ends in good order."""
        if self._tls is None or not self._done or self._failed:
            return
        try:
            self._tls.unwrap()
        except ssl.SSLError:
            pass  # The peer's own end of the stream is not awaited.
        self._flush()

    def _fail(self, reason: str) -> None:
        self._failed = True
        self._handshakes.over(self)
        # The 50 kB in OpenSSL are released before the peer has closed its half.
        self._received.clear()
        self._tls = None
        self._incoming = self._outgoing = ssl.MemoryBIO()
        driver = self._connection.driver
        driver.refuse(self._connection, reason)
        driver.settle()


class _Records:
    """Follows the records of a TLS 1.2 stream, to notice a renegotiation: Kafka closes the connection then (SslTransportLayer)."""

    def __init__(self) -> None:
        self._head = b""
        self._missing = 0  # The number of bytes of the present record that have not come yet.

    def begin_handshake(self, data: bytes | bytearray) -> bool:
        """Return whether a record that begins in these bytes is one of a handshake."""
        at, found = 0, False
        while at < len(data):
            if self._missing:
                step = min(self._missing, len(data) - at)
                self._missing -= step
                at += step
                continue
            step = RECORD_HEAD - len(self._head)
            self._head += bytes(data[at : at + step])
            at += step
            if len(self._head) == RECORD_HEAD:
                found |= self._head[0] == HANDSHAKE
                self._missing, self._head = int.from_bytes(self._head[3:], "big"), b""
        return found


def _whole(received: bytearray) -> bool:
    """Return whether a whole TLS record has arrived, or bytes that begin none, about which OpenSSL may complain at once."""
    if received[0] != HANDSHAKE or (len(received) > 1 and received[1] != TLS_MAJOR):
        return True
    if len(received) < RECORD_HEAD:
        return False
    length = int.from_bytes(received[3:RECORD_HEAD])
    return length > LARGEST_RECORD or len(received) >= RECORD_HEAD + length


def _in_words(error: ssl.SSLError) -> str:
    why = MEANINGS.get(error.reason or "", (error.reason or str(error)).lower().replace("_", " "))
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"{why}: {error.verify_message}"
    return f"the TLS handshake failed: {why}"
