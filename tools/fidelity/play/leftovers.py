"""Groups that scripts left behind are removed from the broker while a run goes on: a broker with thousands of them is a slow one."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Final

from groupmock_clients.probe.stages.tcp_broker import NoBroker
from groupmock_codec.error_codes import NON_EMPTY_GROUP
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

from .alone import Alone
from .tcp_link import Asker, Peer

REST_S: Final = 3.0
TOPICS_AT_A_TIME: Final = 50
TOPICS_ALONE: Final = 150
"""So many where the plays have to wait for it."""


class Leftovers:
    """Removes groups a few seconds after their script."""

    def __init__(self, peer: Peer, alone: Alone) -> None:
        self._asker, self._alone = Asker(peer), alone
        self._left: deque[tuple[float, str]] = deque()
        self._topics: deque[tuple[float, str]] = deque()

    def add_topics(self, topics: list[str]) -> None:
        """These topics are done with."""
        self._topics.extend((time.monotonic(), topic) for topic in topics)

    def add_groups(self, groups: list[str]) -> None:
        """These groups are done with."""
        self._left.extend((time.monotonic(), group) for group in groups)

    async def work(self) -> None:
        """Clean up until cancelled; what cannot be removed is left."""
        while True:
            await asyncio.sleep(REST_S / 3)
            groups: list[str] = []
            while self._left and self._left[0][0] < time.monotonic() - REST_S and len(groups) < 100:
                groups.append(self._left.popleft()[1])
            try:
                await self._remove(groups)
                await self._remove_topics()
            except NoBroker:
                self._asker.close()

    async def _remove_topics(self) -> None:
        """Some at a time: a deletion costs a broker more than a creation. Those that a script deleted itself are no matter."""
        if not self._alone.needed:
            await self._remove_old_topics(TOPICS_AT_A_TIME)
        elif len(self._topics) >= TOPICS_ALONE:
            async with self._alone.alone():
                await self._remove_old_topics(TOPICS_ALONE)

    async def _remove_old_topics(self, most: int) -> None:
        topics: list[str] = []
        while self._topics and self._topics[0][0] < time.monotonic() - REST_S and len(topics) < most:
            topics.append(self._topics.popleft()[1])
        if topics:
            await self._asker.ask(20, 4, DeleteTopicsRequest(topic_names=topics, timeout_ms=30_000), 60)

    async def _remove(self, groups: list[str]) -> None:
        if not groups:
            return
        told = await self._asker.ask(15, 5, DescribeGroupsRequest(groups=groups))
        assert isinstance(told, DescribeGroupsResponse)
        for group in told.groups:
            if group.members:
                members = [MemberIdentity(member_id=one.member_id, group_instance_id=one.group_instance_id) for one in group.members]
                await self._asker.ask(13, 3, LeaveGroupRequest(group_id=group.group_id, members=members))
        gone = await self._asker.ask(42, 1, DeleteGroupsRequest(groups_names=groups))
        assert isinstance(gone, DeleteGroupsResponse)
        self.add_groups([one.group_id for one in gone.results if one.error_code == NON_EMPTY_GROUP])
