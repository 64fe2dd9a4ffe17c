"""Send requests to the cluster that is copied, by one connection to each node and in the newest version that both sides know."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final

from groupmock_codec import APIS, error_codes
from groupmock_codec.api_keys import API_VERSIONS
from groupmock_codec.declare import Message

from ..record.reaching import CONNECT_S, TLS_ALERT, Called, Where, reach
from ..rig.wire import AsyncClient, HungUp, NoFrame, Unreadable
from ..security.login import Credentials
from ..server.running import CannotStart

PATIENCE_S: Final = 30.0
CLIENT_ID: Final = "groupmock-like"
LATER: Final = (
    error_codes.COORDINATOR_LOAD_IN_PROGRESS,
    error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_COORDINATOR,
    error_codes.NOT_LEADER_OR_FOLLOWER,
    error_codes.LEADER_NOT_AVAILABLE,
)
"""Error codes after which a request is repeated later."""
TRIES: Final = 10
PAUSE_S: Final = 0.3


class Source:
    """The connections to the nodes of the cluster that is copied. Raises CannotStart for whatever prevents an answer."""

    def __init__(self, where: Where, tls: ssl.SSLContext | None, called: Called, credentials: Credentials | None = None) -> None:
        self.where = where
        self._tls, self._called, self._credentials = tls, called, credentials
        self._clients: dict[Where, AsyncClient] = {}
        self._highest: dict[Where, dict[int, tuple[int, int]]] = {}

    async def ask(self, key: int, message: Message, highest: int, where: Where | None = None) -> Any:
        """Return the answer of a node (None: the node of the given address), in version `highest` or the highest lower version that the
        node knows."""
        node = where or self.where
        client = await self._client(node)
        lowest, known = self._highest[node].get(key, (0, -1))
        version = min(highest, known)
        name = APIS[key].name
        if version < lowest or version not in APIS[key].request.versions:
            raise CannotStart(f"the cluster {node} offers no version of {name} that is known here")
        try:
            return await client.ask(key, version, message, trailing=True)
        except HungUp:
            raise CannotStart(
                f"the cluster {node} closed the connection when it was asked for {name}: it may want credentials: "
                f"see {self._called.sasl}-user"
            ) from None
        except (OSError, Unreadable) as trouble:
            raise CannotStart(f"the cluster {node} did not answer {name}: {str(trouble) or 'no answer in time'}") from None

    async def close(self) -> None:
        """Close the connections to all nodes, and wait until TLS has said good-bye."""
        for client in self._clients.values():
            client.close()
        for client in self._clients.values():
            try:
                async with asyncio.timeout(CONNECT_S):
                    await client.writer.wait_closed()
            except OSError:  # The node closed first, or does not answer. TimeoutError is one of them.
                continue

    async def _client(self, where: Where) -> AsyncClient:
        if where not in self._clients:
            client = self._clients[where] = AsyncClient(
                *await reach(where, self._tls, self._called, self._credentials), CLIENT_ID, PATIENCE_S
            )
            self._highest[where] = await self._versions(where, client)
        return self._clients[where]

    async def _versions(self, where: Where, client: AsyncClient) -> dict[int, tuple[int, int]]:
        """Return the versions of each API that a node serves, asked by ApiVersions v0, which every broker reads."""
        try:
            async with asyncio.timeout(CONNECT_S):
                answer = await client.ask(API_VERSIONS, 0, trailing=True)
        except (TimeoutError, OSError, Unreadable) as trouble:
            if isinstance(trouble, NoFrame) and trouble.head.startswith(TLS_ALERT) and self._tls is None:
                raise CannotStart(self._called.speaks_tls(where)) from None
            plain = "" if self._tls is not None else f", or does it speak TLS? Then add {self._called.tls}"
            raise CannotStart(f"what listens at {where} does not answer as a Kafka broker does: is it the right address{plain}") from None
        return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
