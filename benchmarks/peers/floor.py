"""A coordinator that does the least possible work, to show how long stock consumers need to settle when the server costs almost nothing.

    python -m benchmarks.peers.floor MEMBERS WAIT_SECONDS TOPIC PARTITIONS

It knows how many members will come and answers all their JoinGroups WAIT_SECONDS after the first one (or when the last has come, if that is
later). It passes the leader's assignments on and has no offsets and no records. It checks nothing and expires nobody. The time that its
consumers take beyond WAIT_SECONDS is therefore their own: the floor of the "settle" figure.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import uvloop

from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS
from groupmock_codec.frame import Framer
from groupmock_codec.headers import decode_request_header, encode_response_header, response_header_version
from groupmock_codec.messages import (
    k01_fetch,
    k02_list_offsets,
    k03_metadata,
    k08_offset_commit,
    k09_offset_fetch,
    k10_find_coordinator,
    k11_join_group,
    k12_heartbeat,
    k13_leave_group,
    k14_sync_group,
    k18_api_versions,
)

NEWEST = {0: 7, 1: 11, 2: 5, 3: 8, 8: 6, 9: 5, 10: 3, 11: 9, 12: 4, 13: 4, 14: 5, 18: 3}
"""Maps an API key to the highest advertised version, which is the last one without topic ids and with only one group per request."""

Reply = Callable[[Message], None]


class FloorCoordinator:
    """The coordinator of the one group with the one topic."""

    def __init__(self, members: int, wait: float, topic: str, partitions: int) -> None:
        self.expected, self.wait, self.topic, self.partitions = members, wait, topic, partitions
        self.host, self.port = "127.0.0.1", 0
        self.waiting = self.waited = False
        self.named, self.generation = 0, 0
        self.joins: dict[str, tuple[k11_join_group.JoinGroupRequest, Reply]] = {}
        self.syncs: dict[str, Reply] = {}
        self.assignments: dict[str, bytes] | None = None
        self.handlers: dict[int, Callable[[Any, Reply], None]] = {
            1: self.fetch,
            2: self.list_offsets,
            3: self.metadata,
            8: self.offset_commit,
            9: self.offset_fetch,
            10: self.find_coordinator,
            11: self.join,
            12: self.heartbeat,
            13: lambda _request, reply: reply(k13_leave_group.LeaveGroupResponse()),
            14: self.sync,
            18: self.api_versions,
        }

    def api_versions(self, _request: Any, reply: Reply) -> None:
        """Answer with a fixed table of versions."""
        keys = [k18_api_versions.ApiVersion(api_key=key, min_version=0, max_version=newest) for key, newest in NEWEST.items()]
        reply(k18_api_versions.ApiVersionsResponse(api_keys=keys))

    def metadata(self, request: k03_metadata.MetadataRequest, reply: Reply) -> None:
        """Answer with one node, and with the topic only if it was asked for, because librdkafka would otherwise join a tick earlier."""
        partition = k03_metadata.MetadataResponsePartition
        partitions = [
            partition(partition_index=index, leader_id=1, leader_epoch=0, replica_nodes=[1], isr_nodes=[1])
            for index in range(self.partitions)
        ]
        broker = k03_metadata.MetadataResponseBroker(node_id=1, host=self.host, port=self.port)
        asked = request.topics is None or any(topic.name == self.topic for topic in request.topics)
        topics = [k03_metadata.MetadataResponseTopic(name=self.topic, partitions=partitions)] if asked else []
        reply(k03_metadata.MetadataResponse(brokers=[broker], cluster_id="floor", controller_id=1, topics=topics))

    def find_coordinator(self, _request: Any, reply: Reply) -> None:
        reply(k10_find_coordinator.FindCoordinatorResponse(error_message=None, node_id=1, host=self.host, port=self.port))

    def join(self, request: k11_join_group.JoinGroupRequest, reply: Reply) -> None:
        """Give the member an id, then keep its next request until the wait is over and everybody has joined."""
        if not request.member_id:
            self.named += 1
            reply(k11_join_group.JoinGroupResponse(error_code=MEMBER_ID_REQUIRED, protocol_name="", member_id=f"floor-{self.named:048}"))
            return
        if not self.waiting:
            self.waiting = True
            asyncio.get_running_loop().call_later(self.wait, self.end_wait)
        self.joins[request.member_id] = request, reply
        self.release()

    def end_wait(self) -> None:
        """End the wait for further members, for all members that have joined. From now on only missing members delay the generation."""
        self.waited = True
        self.release()

    def release(self) -> None:
        """Answer all JoinGroups, the leader's last."""
        if not self.waited or len(self.joins) < self.expected:
            return
        member = k11_join_group.JoinGroupResponseMember
        listed = [member(member_id=name, metadata=request.protocols[0].metadata) for name, (request, _) in self.joins.items()]
        leader = listed[0].member_id
        self.generation += 1
        self.assignments = None
        answer = k11_join_group.JoinGroupResponse(generation_id=self.generation, protocol_type="consumer", leader=leader)
        answer.protocol_name = self.joins[leader][0].protocols[0].name
        for name, (_, reply) in reversed(self.joins.items()):
            answer.member_id, answer.members = name, listed if name == leader else []
            reply(answer)
        self.joins = {}

    def sync(self, request: k14_sync_group.SyncGroupRequest, reply: Reply) -> None:
        """Answer the SyncGroups of followers once the leader has sent its assignments."""
        self.syncs[request.member_id] = reply
        if request.assignments:
            self.assignments = {each.member_id: each.assignment for each in request.assignments}
        if self.assignments is None:
            return
        for member, answer in self.syncs.items():
            assignment = self.assignments.get(member, b"")
            answer(k14_sync_group.SyncGroupResponse(protocol_type="consumer", protocol_name=request.protocol_name, assignment=assignment))
        self.syncs = {}

    def heartbeat(self, _request: Any, reply: Reply) -> None:
        """Answer without an error unless some member joins again (librdkafka does if it learns of the topic late)."""
        reply(k12_heartbeat.HeartbeatResponse(error_code=REBALANCE_IN_PROGRESS if self.joins and self.generation else 0))

    def offset_fetch(self, request: k09_offset_fetch.OffsetFetchRequest, reply: Reply) -> None:
        """Answer that nothing was ever committed."""
        partition, topic = k09_offset_fetch.OffsetFetchResponsePartition, k09_offset_fetch.OffsetFetchResponseTopic
        topics = [
            topic(name=each.name, partitions=[partition(partition_index=index, committed_offset=-1) for index in each.partition_indexes])
            for each in request.topics or []
        ]
        reply(k09_offset_fetch.OffsetFetchResponse(topics=topics))

    def offset_commit(self, request: k08_offset_commit.OffsetCommitRequest, reply: Reply) -> None:
        """Accept a commit and forget it."""
        partition, topic = k08_offset_commit.OffsetCommitResponsePartition, k08_offset_commit.OffsetCommitResponseTopic
        topics = [
            topic(name=each.name, partitions=[partition(partition_index=one.partition_index) for one in each.partitions])
            for each in request.topics
        ]
        reply(k08_offset_commit.OffsetCommitResponse(topics=topics))

    def list_offsets(self, request: k02_list_offsets.ListOffsetsRequest, reply: Reply) -> None:
        """Answer that every log is empty."""
        partition, topic = k02_list_offsets.ListOffsetsPartitionResponse, k02_list_offsets.ListOffsetsTopicResponse
        topics = [
            topic(name=each.name, partitions=[partition(partition_index=one.partition_index, offset=0) for one in each.partitions])
            for each in request.topics
        ]
        reply(k02_list_offsets.ListOffsetsResponse(topics=topics))

    def fetch(self, request: k01_fetch.FetchRequest, reply: Reply) -> None:
        """Answer without records when the client's maximum wait ends."""
        partition, topic = k01_fetch.PartitionData, k01_fetch.FetchableTopicResponse
        topics = [
            topic(topic=each.topic, partitions=[partition(partition_index=one.partition, records=b"") for one in each.partitions])
            for each in request.topics
        ]
        answer = k01_fetch.FetchResponse(responses=topics)
        asyncio.get_running_loop().call_later(max(0.1, request.max_wait_ms / 1000), reply, answer)


class FloorConnection(asyncio.Protocol):
    """Handles the requests of one connection one at a time and in order."""

    def __init__(self, coordinator: FloorCoordinator) -> None:
        self.coordinator, self.framer = coordinator, Framer()
        self.waiting: deque[bytes] = deque()
        self.busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Queue the frames and handle those that are due."""
        self.waiting.extend(self.framer.feed(data))
        self.next()

    def next(self) -> None:
        """Handle requests until one has to wait."""
        while self.waiting and not self.busy:
            self.busy = True
            self.handle(self.waiting.popleft())

    def handle(self, frame: bytes) -> None:
        """Decode a request and pass it to its handler, which replies when it is ready."""
        header, offset = decode_request_header(frame)
        api, version = APIS[header.api_key], min(header.api_version, NEWEST[header.api_key])

        def reply(message: Message) -> None:
            head = encode_response_header(header.correlation_id, response_header_version(api.key, version))
            body = head + api.response.encode(version, message)
            self.transport.write(len(body).to_bytes(4, "big") + body)
            self.busy = False
            asyncio.get_running_loop().call_soon(self.next)

        self.coordinator.handlers[api.key](api.request.decode(version, frame[offset:], trailing=True), reply)


def warm() -> None:
    """Compile every codec before anybody is waiting."""
    for key, newest in NEWEST.items():
        for version in range(APIS[key].versions.lowest, newest + 1):
            APIS[key].request.decoder(version)
            APIS[key].response.encoder(version)


async def serve(coordinator: FloorCoordinator) -> None:
    """Listen on a free port, announce it, and serve until it is terminated."""
    warm()
    server = await asyncio.get_running_loop().create_server(lambda: FloorConnection(coordinator), coordinator.host, 0, backlog=4096)
    coordinator.port = server.sockets[0].getsockname()[1]
    ready = {"ready": True, "bootstrap": f"{coordinator.host}:{coordinator.port}", "pid": os.getpid()}
    print(json.dumps(ready), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(FloorCoordinator(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))
