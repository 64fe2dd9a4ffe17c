"""Apache Kafka with a SASL listener, and a connection to it for each user."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from groupmock.rig.wire import Client, HungUp
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from tools.oracle import ORACLE

USERS: Final = ("admin", "alice", "bob")
PASSWORD: Final = "p"
SECONDS: Final = 20.0
LOGIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"


class Broker:
    """A broker that is asked on behalf of users. A connection that the broker closes is opened anew for the next request."""

    def __init__(self, host: str, port: int) -> None:
        self._at = host, port
        self._clients: dict[str, Client] = {}

    def ask(self, user: str, key: int, version: int, message: Any) -> Any:
        """Return the answer, or "closed" or "parked" if there is none, in the words of the rig."""
        client = self._clients.get(user) or self._connected(user)
        try:
            return client.ask(key, version, message)
        except (HungUp, TimeoutError) as problem:
            self._clients.pop(user).close()
            return "closed" if isinstance(problem, HungUp) else "parked"

    def _connected(self, user: str) -> Client:
        client = self._clients[user] = Client(*self._at, seconds=SECONDS)
        client.ask(17, 1, SaslHandshakeRequest(mechanism="PLAIN"))
        token = f"\0{user}\0{PASSWORD}".encode()
        answer = client.ask(36, 1, SaslAuthenticateRequest(auth_bytes=token))
        assert not answer.error_code, answer
        return client

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


@contextmanager
def secured_kafka(version: str, settings: Mapping[str, str]) -> Iterator[Broker]:
    """Start a broker of that version with the settings and with a listener for the users."""
    users = " ".join(f'user_{user}="{PASSWORD}"' for user in USERS)
    secured = {
        **settings,
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": f'{LOGIN} required username="admin" password="{PASSWORD}" {users};',
    }
    flags = [word for name, value in secured.items() for word in ("--set", f"{name}={value}")]
    with tempfile.TemporaryDirectory(prefix="groupmock-kafka-") as folder:
        start = [sys.executable, str(ORACLE), "start", "--version", version, "--listener", "SECURE:SASL_PLAINTEXT", *flags, "--dir", folder]
        started = subprocess.run(start, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert started.returncode == 0, f"Apache Kafka {version} does not start: {started.stderr[-2000:]}"
        host, port = json.loads(started.stdout.splitlines()[-1])["listeners"]["1"]["SECURE"].split(":")
        broker = Broker(host, int(port))
        try:
            yield broker
        finally:
            broker.close()
            subprocess.run([sys.executable, str(ORACLE), "stop", folder], stdin=subprocess.DEVNULL, capture_output=True, check=True)
