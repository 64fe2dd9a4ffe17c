"""A scripted group member on a raw socket. It joins with the bytes of the document's examples, follows its assignments and keeps their
bytes."""

from __future__ import annotations

import socket
import threading
from typing import Any, Final

from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.versions import newest
from groupmock.rig.wire import Client
from groupmock_clients.cooperative.balance import Partition
from groupmock_clients.cooperative.member import flat, listed
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from groupmock_codec.embedded import consumer, designs
from groupmock_codec.embedded.designs import AssignorData, DesignSubscription
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS

BEAT_S: Final = 0.03


class RawMember(ClassicMember):
    """A member that runs on its own thread until `leave` or `drop` is called. It never leads and has no timer of its own."""

    def __init__(self, bootstrap: str, group: str, name: str, topic: str, design: int) -> None:
        super().__init__(group, topics=[topic], session_ms=10_000, rebalance_ms=30_000)
        self.name, self.topic, self.design = name, topic, design
        self.owned: frozenset[Partition] = frozenset()
        self.assignments: list[bytes] = []
        self._nonce = 0
        host, port = bootstrap.split(":")
        self._client = Client(host, int(port), name)
        self._end = threading.Event()
        self.may_beat = threading.Event()  # While this event is cleared, the member sends no heartbeat and learns of no rebalance.
        self.may_beat.set()
        self._deaf = threading.Event()
        self._leaving = False
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"raw-{name}", daemon=True)
        self._thread.start()

    def hear_nothing(self) -> None:
        """Stop sending heartbeats until `may_beat` is set. Returns when no heartbeat is in flight."""
        self._deaf.clear()
        self.may_beat.clear()
        assert self._deaf.wait(30), f"{self.name} is still busy"

    def leave(self) -> None:
        self._leaving = True
        self._end.set()
        self._thread.join(30)
        self.drop()

    def drop(self) -> None:
        """Close the connection in any state. A second call does nothing. Raises any earlier failure of the thread."""
        self._end.set()
        try:
            self._client.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # The shutdown may fail, because the socket may be closed already.
        self._thread.join(30)
        self._client.close()
        if self.failure is not None:
            raise AssertionError(f"raw member {self.name}: {self.failure!r}") from self.failure

    def _run(self) -> None:
        try:
            self._join()
            while not self._end.wait(BEAT_S):
                if not self.may_beat.is_set():
                    self._deaf.set()
                    continue
                if self._ask(HEARTBEAT, self.heartbeat_request()).error_code:
                    self._join()
            if self._leaving:
                self._ask(LEAVE_GROUP, self.leave_request())
        except Exception as error:  # `drop` raises the exception in the test's thread.
            if not self._end.is_set():
                self.failure = error

    def _join(self) -> None:
        while not self._end.is_set():
            self._nonce += 1
            error = self.joined(self._ask(JOIN_GROUP, self.join_request()))
            if error == MEMBER_ID_REQUIRED:
                continue
            assert not error, f"JoinGroup is answered with error {error}"
            assert not self.leads, "a script does not lead"
            synced = self._ask(SYNC_GROUP, self.sync_request())
            if synced.error_code == REBALANCE_IN_PROGRESS:
                continue
            assert not synced.error_code, synced
            if not self._obey(synced.assignment):
                return

    def offers(self) -> list[tuple[str, bytes]]:
        """Return the protocols with their metadata for a JoinGroup."""
        return [(f"coop-d{self.design}", self._subscription())]

    def _subscription(self) -> bytes:
        nonce, held = self._nonce, listed(self.owned)
        if self.design == 1:
            return designs.encode_subscription(
                DesignSubscription(1, [self.topic], designs.encode_assignor_data(AssignorData(held, nonce)), held)
            )
        return designs.carry_subscription(DesignSubscription(self.design, [self.topic], nonce.to_bytes(4), held))

    def _obey(self, data: bytes) -> bool:
        """Change the owned partitions to (owned - revoked) | assigned and return whether the member must rejoin at once."""
        self.assignments.append(data)
        told = (
            designs.decode_assignment(data) if self.design == 1 else designs.carried_assignment(consumer.decode_assignment(data).user_data)
        )
        assert told is not None, data.hex()
        revoked = flat(told.revoke_topic_partitions)
        self.owned = (self.owned - revoked) | flat(told.assigned_topic_partitions)
        return bool(revoked)

    def _ask(self, key: int, request: Any) -> Any:
        return self._client.ask(key, newest(key, request), request)

    @staticmethod
    def ask_once(bootstrap: str, key: int, version: int, request: Any) -> Any:
        """Send one request on a new connection."""
        host, port = bootstrap.split(":")
        with Client(host, int(port), "admin") as client:
            return client.ask(key, version, request)
