"""The nodes of the recorded cluster, each of which gets a listener of the proxy in front of it.

A node is identified by its address, and its id is learned from the first answer that names it. A node that appears later (it started, or an
answer names it for the first time) gets its listener before any client is told of the node. A node that moves keeps its listener, so that
addresses that clients have stay valid.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec import APIS
from groupmock_codec.api_keys import METADATA
from groupmock_codec.errors import CodecError
from groupmock_codec.headers import RequestHeader, encode_request_header
from groupmock_codec.messages.k03_metadata import MetadataRequest

from ..config.resolve import Address
from ..net.listen import Acceptor, Adopt, bracketed, listen
from ..server.running import CannotStart
from .reaching import CONNECT_S, TLS_ALERT, Called, Where, authenticate, reach
from .wire_codec import WireCodec

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..security.login import Credentials

UPSTREAM: Final = Called("upstream", "--upstream", "--tls", "--sasl")
MOST_NODES: Final = 1000
"""The most nodes of a cluster, because each of them needs a listener."""
VERSION: Final = 4
"""The version of the Metadata requests that the proxy sends; every broker since 0.11 has it."""
MOST_BYTES: Final = 16_777_216
"""The largest accepted answer to a Metadata request without topics, in bytes."""


class TooManyNodes(Exception):
    """Raised if a cluster names more nodes than can have a listener each; the text is for users."""


class Node:
    """A node of the recorded cluster, with the listener in front of it. `number` is its id, or None until an answer gives it. `where` is
    its address. `host` and `port` are those that clients are told."""

    def __init__(self, number: int | None, where: Where, listener: socket.socket, host: str, port: int) -> None:
        self.number = number
        self.where = where
        self.listener = listener
        self.host = host
        self.port = port
        self.acceptor: Acceptor | None = None

    @property
    def told(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"


class Upstream:
    """All known nodes of the recorded cluster. `began(node)` is called for a node that just got its listener, and `trouble(sentence)` if it
    could not get one."""

    def __init__(
        self, host: str, port: int, advertise: Address | None, tls: ssl.SSLContext | None, credentials: Credentials | None = None
    ) -> None:
        self.nodes: list[Node] = []
        self.tls = tls
        self.credentials = credentials
        self.began: Callable[[Node], None] = lambda node: None
        self.trouble: Callable[[str], None] = lambda sentence: None
        self._host = host
        self._port = port
        self._advertise = advertise
        self._without: set[tuple[int, Where]] = set()  # Nodes without a listener, each of which is reported once.

    def add(self, where: Where, number: int | None = None) -> Node:
        """Make a listener for the node, on the next port or on a free one. Raises OSError."""
        listener = listen(self._host, self._port + len(self.nodes) if self._port else 0)
        host, port = self._host, listener.getsockname()[1]
        if self._advertise is not None:
            host = self._advertise.host
            if self._advertise.port is not None:
                port = self._advertise.port + len(self.nodes)
        node = Node(number, where, listener, host, port)
        self.nodes.append(node)
        return node

    def expect(self, message: Message, where: Where) -> None:
        """Raise TooManyNodes if an answer names more brokers than can have a listener, before any of them gets one."""
        named = len(getattr(message, "brokers", ()))
        if named > MOST_NODES:
            raise TooManyNodes(
                f"the upstream {where} names {named} brokers, and a recording has a port of its own for each, for at most {MOST_NODES}"
            )

    def translate(self, number: int, host: str, port: int) -> tuple[str, int]:
        """Return the address that a client is told in place of a node's address."""
        node = self.known(number, Where(host, port))
        return (host, port) if node is None else (node.host, node.port)

    def known(self, number: int, where: Where) -> Node | None:
        """Return the node with this id and address. An unknown node gets a listener; the result is None if that fails."""
        node = next((each for each in self.nodes if each.number == number), None)
        if node is None:
            node = next((each for each in self.nodes if each.number is None and each.where == where), None)
            if node is None:
                return self._found(number, where)
            node.number = number
        node.where = where
        return node

    def close(self) -> None:
        """Stop listening on all nodes."""
        for node in self.nodes:
            if node.acceptor is not None:
                node.acceptor.close()
            else:
                node.listener.close()

    async def connect(self, protocol: Callable[[], Any], where: Where) -> None:
        """Open a connection to a node, authenticated if there are credentials. Raises OSError, for example ssl.SSLError or TimeoutError,
        and NotAuthenticated."""
        async with asyncio.timeout(CONNECT_S):
            name = where.host if self.tls is not None else None
            if self.credentials is not None:
                await self._connect_as(self.credentials, protocol(), where, name)
                return
            await asyncio.get_running_loop().create_connection(protocol, where.host, where.port, ssl=self.tls, server_hostname=name)

    async def _connect_as(self, credentials: Credentials, protocol: asyncio.Protocol, where: Where, name: str | None) -> None:
        """Authenticate on a new connection, and give it to the protocol then. A node sends nothing before it is asked again."""
        # A StreamWriter would close the connection when it is forgotten, so that there is none here.
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().create_connection(
            lambda: asyncio.StreamReaderProtocol(reader), where.host, where.port, ssl=self.tls, server_hostname=name
        )
        try:
            await authenticate(reader, transport.write, credentials, where)
        except BaseException:
            transport.close()
            raise
        transport.set_protocol(protocol)
        protocol.connection_made(transport)

    async def ask(self, where: Where) -> None:
        """Ask the cluster for its nodes with a Metadata request. Raises CannotStart when it cannot be reached."""
        reader, writer = await reach(where, self.tls, UPSTREAM, self.credentials)
        try:
            await self._ask_metadata(where, reader, writer)
        finally:
            writer.close()

    async def _ask_metadata(self, where: Where, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send a Metadata request to a node, to learn the nodes of its cluster. A node that wants credentials first closes the
        connection, and the answers to its clients show the nodes later."""
        try:
            async with asyncio.timeout(CONNECT_S):
                writer.write(_who_is_there())
                size = await reader.readexactly(4)
                if size.startswith(TLS_ALERT) and self.tls is None:
                    raise CannotStart(UPSTREAM.speaks_tls(where))
                frame = await reader.readexactly(min(int.from_bytes(size, "big"), MOST_BYTES))
            answer: Any = WireCodec(METADATA, VERSION).read_answer(frame)
        except (asyncio.IncompleteReadError, TimeoutError, OSError, CodecError):
            return
        try:
            self.expect(answer, where)
        except TooManyNodes as refusal:
            raise CannotStart(f"{refusal}: name another cluster in --upstream") from None
        for broker in answer.brokers:
            self.known(broker.node_id, Where(broker.host, broker.port))

    def _found(self, number: int, where: Where) -> Node | None:
        if len(self.nodes) >= MOST_NODES:
            self._tell_without(number, where, f"{MOST_NODES} nodes have a listener already")
            return None
        try:
            node = self.add(where, number)
        except OSError as failure:
            self._tell_without(number, where, f"no port to listen on: {failure.strerror}")
            return None
        self.began(node)
        return node

    def _tell_without(self, number: int, where: Where, why: str) -> None:
        if (number, where) not in self._without and len(self._without) < MOST_NODES:
            self._without.add((number, where))
            self.trouble(f"node {number} at {where} is told to clients as it is: {why}")


def adopt_for(node: Node, adopt: Callable[[Node, socket.socket, str, int], None]) -> Adopt:
    """Return the function that the acceptor of a node calls with each connection."""
    return lambda accepted, host, port: adopt(node, accepted, host, port)


def _who_is_there() -> bytes:
    body = APIS[METADATA].request.encode(VERSION, MetadataRequest(topics=[], allow_auto_topic_creation=False))
    frame = encode_request_header(RequestHeader(METADATA, VERSION, 1, "groupmock-record")) + body
    return len(frame).to_bytes(4, "big") + frame
