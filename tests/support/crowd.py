"""Hundreds of scripted members on one event loop over TCP: they join, share their topic, heartbeat, commit, and rejoin."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

from groupmock.rig.classic_member import ClassicMember, dealt_in_turn
from groupmock.rig.versions import newest
from groupmock.rig.wire import AsyncClient
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.embedded.consumer import decode_assignment
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID


class Crowd:
    """Members with these client ids that run until `end` is called. `commit_s` is the time between two commits of a member; None means
    no commits. Each commit is `records` further than the last."""

    def __init__(self, port: int, names: Iterable[str], *, group: str = "kitchen", topic: str = "orders", partitions: int = 12,
                 commit_s: float | None = 1.0, beat_s: float = 0.5, session_ms: int = 10_000,
                 records: int = 0) -> None:  # fmt: skip
        self._port, self._group, self._topic, self._partitions = port, group, topic, partitions
        self._commit_s, self._beat_s, self._session_ms, self._records = commit_s, beat_s, session_ms, records
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="crowd", daemon=True)
        self._thread.start()
        for name in names:
            self.come(name)

    def come(self, name: str) -> None:
        self._loop.call_soon_threadsafe(self._begin, name)

    def _begin(self, name: str) -> None:
        self._tasks[name] = self._loop.create_task(self._live(name))

    def crash(self, name: str) -> None:
        self._loop.call_soon_threadsafe(lambda: self._tasks.pop(name).cancel())

    def end(self) -> None:
        """Close all connections without a LeaveGroup; a second call does nothing."""
        if self._loop.is_closed():
            return

        async def over() -> None:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

        asyncio.run_coroutine_threadsafe(over(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _live(self, name: str) -> None:
        client = await AsyncClient.connect("127.0.0.1", self._port, name, 600)
        member = ClassicMember(self._group, topics=[self._topic], session_ms=self._session_ms, rebalance_ms=self._session_ms)
        try:
            while True:
                await self._stay(client, member)
        finally:
            client.close()

    async def _ask(self, client: AsyncClient, key: int, message: Any) -> Any:
        return await client.ask(key, newest(key, message), message)

    async def _stay(self, client: AsyncClient, member: ClassicMember) -> None:
        """Join and send heartbeats until the coordinator starts a rebalance."""
        if error := member.joined(await self._ask(client, JOIN_GROUP, member.join_request())):
            if error != MEMBER_ID_REQUIRED:
                member.forget()
            return
        plan = dealt_in_turn(sorted(member.members, key=lambda each: each.member_id), {self._topic: self._partitions}.get)
        told = await self._ask(client, SYNC_GROUP, member.sync_request(plan))
        given = [] if told.error_code else decode_assignment(told.assignment).assigned_partitions
        done = {(each.topic, number): 1 for each in given for number in each.partitions}
        since, error = 0.0, told.error_code
        while not error:
            await asyncio.sleep(self._beat_s)
            error = (await self._ask(client, HEARTBEAT, member.heartbeat_request())).error_code
            since += self._beat_s
            if not error and done and self._commit_s is not None and since >= self._commit_s:
                since = 0.0
                done = {place: offset + self._records for place, offset in done.items()}
                await self._ask(client, OFFSET_COMMIT, member.commit_request(done))
        if error == UNKNOWN_MEMBER_ID:
            member.forget()
