"""Members by the hundred over TCP, as scripts on one loop of a thread: they join, share their topic, beat, commit, and join again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

from groupmock.rig.versions import newest
from groupmock.rig.wire import AsyncClient
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.embedded import consumer
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment


class Crowd:
    """`names` are client ids. Until `end`; `commit_s`: between two commits of a member, None: it commits nothing."""

    def __init__(self, port: int, names: Iterable[str], *, group: str = "kitchen", topic: str = "orders", partitions: int = 12,
                 commit_s: float | None = 1.0, beat_s: float = 0.5, session_ms: int = 10_000) -> None:  # fmt: skip
        self._port, self._group, self._topic, self._partitions = port, group, topic, partitions
        self._commit_s, self._beat_s, self._session_ms = commit_s, beat_s, session_ms
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="crowd", daemon=True)
        self._thread.start()
        for name in names:
            self.come(name)

    def come(self, name: str) -> None:
        """One more."""
        self._loop.call_soon_threadsafe(self._begin, name)

    def _begin(self, name: str) -> None:
        self._tasks[name] = self._loop.create_task(self._live(name))

    def crash(self, name: str) -> None:
        """Without a word: the connection is closed."""
        self._loop.call_soon_threadsafe(lambda: self._tasks.pop(name).cancel())

    def end(self) -> None:
        """All of them, as `crash`; idempotent."""
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
        member = ""
        try:
            while True:
                member = await self._stay(client, member)
        finally:
            client.close()

    async def _ask(self, client: AsyncClient, key: int, message: Any) -> Any:
        return await client.ask(key, newest(key, message), message)

    async def _stay(self, client: AsyncClient, member: str) -> str:
        """Join, and stay until somebody says to join again; returns the member id to come back with."""
        metadata = consumer.encode_subscription(consumer.Subscription(topics=[self._topic]))
        wish = JoinGroupRequest(
            group_id=self._group, session_timeout_ms=self._session_ms, rebalance_timeout_ms=self._session_ms, member_id=member,
            protocol_type="consumer", protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )  # fmt: skip
        joined = await self._ask(client, JOIN_GROUP, wish)
        if joined.error_code:
            return str(joined.member_id) if joined.error_code == MEMBER_ID_REQUIRED else ""
        me, generation = joined.member_id, joined.generation_id
        plan = self._plan([each.member_id for each in joined.members])
        sync = SyncGroupRequest(
            group_id=self._group, generation_id=generation, member_id=me, protocol_type="consumer", protocol_name="range", assignments=plan,
        )  # fmt: skip
        told = await self._ask(client, SYNC_GROUP, sync)
        given = [] if told.error_code else consumer.decode_assignment(told.assignment).assigned_partitions
        mine = [number for each in given for number in each.partitions]
        since, error = 0.0, told.error_code
        while not error:
            await asyncio.sleep(self._beat_s)
            beat = HeartbeatRequest(group_id=self._group, generation_id=generation, member_id=me)
            error = (await self._ask(client, HEARTBEAT, beat)).error_code
            since += self._beat_s
            if not error and mine and self._commit_s is not None and since >= self._commit_s:
                since = 0.0
                parts = [OffsetCommitRequestPartition(partition_index=number, committed_offset=1) for number in mine]
                topics = [OffsetCommitRequestTopic(name=self._topic, partitions=parts)]
                commit = OffsetCommitRequest(
                    group_id=self._group, generation_id_or_member_epoch=generation, member_id=me, topics=topics
                )  # fmt: skip
                await self._ask(client, OFFSET_COMMIT, commit)
        return "" if error == UNKNOWN_MEMBER_ID else str(me)

    def _plan(self, members: list[str]) -> list[SyncGroupRequestAssignment]:
        """Of a leader; [] of others, who are told of no members."""
        found = []
        for place, member in enumerate(sorted(members)):
            mine = list(range(place, self._partitions, len(members)))
            topics = [consumer.TopicPartitions(topic=self._topic, partitions=mine)] if mine else []
            found.append(SyncGroupRequestAssignment(member, consumer.encode_assignment(consumer.Assignment(assigned_partitions=topics))))
        return found
