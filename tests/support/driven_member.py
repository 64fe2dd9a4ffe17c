"""A scripted consumer for tests of `groupmock audit --drive` that reads its settings from the environment and closes on SIGTERM. It
keeps every rule, unless DRIVEN_BREAKS names one of `BREAKS`. It sends one request at a time on its connection to the coordinator and on
those of its `driven_reader`, and uses the `range` assignor on one topic."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from driven_reader import Reader

from groupmock.rig.classic_member import ClassicMember, dealt_in_turn
from groupmock.rig.versions import newest
from groupmock.rig.wire import Client, Unreadable
from groupmock_codec.api_keys import FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, METADATA, OFFSET_COMMIT, OFFSET_FETCH, SYNC_GROUP
from groupmock_codec.embedded import consumer
from groupmock_codec.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    GROUP_AUTHORIZATION_FAILED,
    GROUP_MAX_SIZE_REACHED,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_GROUP_ID,
    INVALID_SESSION_TIMEOUT,
    MEMBER_ID_REQUIRED,
    NOT_COORDINATOR,
    UNKNOWN_MEMBER_ID,
)
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest

SESSION_MS, REBALANCE_MS, BEAT_S, PAUSE_S = 10_000, 20_000, 0.1, 0.3
FOR_GOOD: Final = {
    INCONSISTENT_GROUP_PROTOCOL: "another protocol",
    INVALID_GROUP_ID: "group id",
    INVALID_SESSION_TIMEOUT: "session timeout",
    GROUP_AUTHORIZATION_FAILED: "no right to the group",
    GROUP_MAX_SIZE_REACHED: "the group is full",
}
"""Errors that only another party can correct (CLIENT-26)."""
BREAKS: Final = ("CLIENT-07", "CLIENT-27")
"""The rules that the member can be told to break; `not static` makes it ignore its group.instance.id."""


class Rejoin(Exception):
    """Raised when the member must join again or find its coordinator again."""


class Stopped(Exception):
    """Raised when SIGTERM asks the member to stop."""


class DrivenMember(ClassicMember):
    def __init__(self) -> None:
        self.bootstrap = os.environ["GROUPMOCK_BOOTSTRAP"].split(",")
        self.topic, self.name = os.environ["GROUPMOCK_TOPIC"], os.environ["GROUPMOCK_CLIENT_ID"]
        self.breaks = os.environ.get("DRIVEN_BREAKS", "")
        instance = None if self.breaks == "not static" else os.environ.get("GROUPMOCK_INSTANCE_ID")
        super().__init__(
            os.environ["GROUPMOCK_GROUP"], topics=[self.topic], instance_id=instance, session_ms=SESSION_MS, rebalance_ms=REBALANCE_MS
        )
        self.stopping = False
        self.offsets: dict[int, int] = {}
        self.known = 0
        self._link: Client | None = None
        self._reader = Reader(self.topic, self.name, self._metadata)
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def run(self) -> None:
        while not self.stopping:
            try:
                self._take_part()
            except Rejoin:
                continue
            except (OSError, Unreadable):
                self._drop()
                time.sleep(PAUSE_S)
        self._leave()

    def _take_part(self) -> None:
        self._join()
        self._fetch_offsets()
        while not self.stopping:
            time.sleep(BEAT_S)
            self._refused(self._ask(HEARTBEAT, self.heartbeat_request()).error_code)
            self.offsets = self._reader.read(self.offsets)
            self._commit()
            if self.leads and self._partitions() != self.known:
                raise Rejoin

    def _coordinator(self) -> Client:
        find = FindCoordinatorRequest(key=self.group)
        while self._link is None:
            if self.stopping:
                raise Rejoin
            for address in self.bootstrap:
                host, _, port = address.rpartition(":")
                try:
                    with Client(host, int(port), self.name) as link:
                        found = link.ask(FIND_COORDINATOR, newest(FIND_COORDINATOR, find), find)
                except OSError:
                    continue
                if not found.error_code:
                    self._link = Client(found.host, found.port, self.name)
                    return self._link
                break
            time.sleep(PAUSE_S)
        return self._link

    def _ask(self, key: int, request: Any) -> Any:
        return self._coordinator().ask(key, newest(key, request), request)

    def _drop(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    def _refused(self, code: int) -> None:
        """Raise the exception for an error code; return if the code is 0."""
        if not code:
            return
        if code == FENCED_INSTANCE_ID:
            sys.exit("fenced: another process has my group.instance.id")
        if code in FOR_GOOD:
            sys.exit(f"refused for good: {FOR_GOOD[code]}")
        if code in (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR):
            self._drop()
            time.sleep(PAUSE_S)
        elif code == COORDINATOR_LOAD_IN_PROGRESS:
            time.sleep(PAUSE_S)
        elif code == UNKNOWN_MEMBER_ID:
            self.forget()
        raise Rejoin

    def _join(self) -> None:
        while (error := self.joined(self._ask(JOIN_GROUP, self.join_request()))) == MEMBER_ID_REQUIRED:
            pass
        self._refused(error)
        given: dict[str, bytes] = {}
        if self.leads:
            self.known = self._partitions()
        if self.assigns:
            given = dealt_in_turn(sorted(self.members, key=lambda each: each.member_id), {self.topic: self.known}.get)
        elif self.breaks == "CLIENT-07" and not self.leads:
            given = {self.member_id: consumer.encode_assignment(consumer.Assignment(0, []))}
        synced = self._ask(SYNC_GROUP, self.sync_request(given))
        self._refused(synced.error_code)
        told = consumer.decode_assignment(synced.assignment).assigned_partitions if synced.assignment else []
        self.offsets = {partition: 0 for topic in told for partition in topic.partitions}

    def _metadata(self) -> MetadataResponse:
        found: MetadataResponse = self._ask(METADATA, MetadataRequest([MetadataRequestTopic(name=self.topic)]))
        return found

    def _partitions(self) -> int:
        """Return the number of partitions, or 0 while the topic does not exist."""
        return len(self._metadata().topics[0].partitions)

    def _fetch_offsets(self) -> None:
        answer = self._ask(OFFSET_FETCH, self.offsets_request([(self.topic, each) for each in sorted(self.offsets)], stable=True))
        self._refused(answer.error_code)
        for topic in answer.topics:
            for each in topic.partitions:
                self.offsets[each.partition_index] = max(0, each.committed_offset)

    def _commit(self) -> None:
        if not self.offsets:
            return
        request = self.commit_request({(self.topic, each): offset for each, offset in self.offsets.items()})
        answer = self._ask(OFFSET_COMMIT, request)
        self._refused(next((each.error_code for topic in answer.topics for each in topic.partitions if each.error_code), 0))

    def _leave(self) -> None:
        if self._link is None or not self.member_id or self.instance_id is not None or self.breaks == "CLIENT-27":
            return
        try:
            self._ask(LEAVE_GROUP, self.leave_request())
        except (OSError, Unreadable):
            pass  # The broker removes the member when its session expires, so a failed LeaveGroup does not matter.


PROGRAMS: Final[dict[str, Callable[[], None]]] = {"member": lambda: DrivenMember().run(), "nobody": lambda: time.sleep(600)}
"""The programs that the drive can start, by name. `nobody` never connects."""

if __name__ == "__main__":
    PROGRAMS[sys.argv[1] if len(sys.argv) > 1 else "member"]()
