"""A real broker and the pure core in lockstep: the same random requests to both, every answer compared field by field.

Member ids of the real broker are handed to the core's dice, so that hash orders, leaders and lists must be the same too. Sessions and
rebalance timeouts are long; the only timer that fires is the initial delay, which both are left alone with.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from core_world import Asked, Protocols, World, subscription

from groupmock import profiles
from groupmock.core.settings import Quirks
from groupmock_codec import APIS
from groupmock_codec.headers import RequestHeader, decode_response_header, encode_request_header, response_header_version
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest

DELAY_MS = 1000
TOPICS = {"orders": 4, "pay": 6, "mail": 2}
SETTLE_SECONDS = 0.08
LISTS: tuple[Protocols, ...] = (
    [("range", subscription("orders"))],
    [("range", subscription("orders")), ("sticky", subscription("orders"))],
    [("sticky", subscription("orders", user_data=b"1")), ("range", subscription("orders"))],
    [("cooperative-sticky", subscription("orders")), ("range", subscription("orders")), ("sticky", subscription("orders"))],
)
LIKELY = (
    *("join",) * 14,
    *("sync",) * 9,
    *("heartbeat",) * 2,
    *("commit",) * 3,
    *("fetch",) * 2,
    *("leave",) * 3,
    *("change",) * 2,
    "crash",
    "ghost",
)


class Wire:
    """One request on one connection of the real broker."""

    def __init__(self, address: tuple[str, int], message: Any, key: int, version: int, client: str) -> None:
        self.key, self.version = key, version
        self._socket = socket.create_connection(address)
        self._data = b""
        body = encode_request_header(RequestHeader(key, version, 7, client)) + APIS[key].request.encode(version, message)
        self._socket.sendall(len(body).to_bytes(4, "big") + body)

    def answer(self, seconds: float) -> Any | None:
        """The answer, if it comes in time."""
        end = time.monotonic() + seconds
        while True:
            if len(self._data) >= 4 and len(self._data) >= 4 + int.from_bytes(self._data[:4], "big"):
                self._socket.close()
                frame = self._data[4:]
                return APIS[self.key].response.decode(
                    self.version, frame[decode_response_header(frame, response_header_version(self.key, self.version))[2] :]
                )
            self._socket.settimeout(max(0.001, end - time.monotonic()))
            try:
                piece = self._socket.recv(1 << 20)
            except TimeoutError:
                return None
            if not piece:
                raise ConnectionError("the broker closed the connection")
            self._data += piece

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


@dataclass
class Client:
    """A consumer process."""

    instance: str | None
    member_id: str = ""
    generation: int = -1
    list_at: int = 0


@dataclass
class Twin:
    """One group on both sides."""

    address: tuple[str, int]
    group: str
    rng: random.Random
    releases: dict[int, tuple[int, int]]
    quirks: Quirks
    max_size: int = 2**31 - 1
    lowest_join: int = 0  # 2.8 cannot answer a leader below v5 whose list has a static member: that end of the phase throws half-way
    world: World = field(init=False)
    clients: list[Client] = field(init=False)
    parked: list[tuple[Wire, Asked, Client | None]] = field(default_factory=list)
    mute: list[Wire] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World.make(
            topics=TOPICS,
            group_initial_rebalance_delay_ms=DELAY_MS,
            quirks=self.quirks,
            group_max_size=self.max_size,
            message_max_bytes=1 << 20,
        )
        self.forced: list[str] = []
        self.world.cluster.dice.uuid_text = self._next_id  # type: ignore[method-assign]  # the real broker draws
        self.clients = [Client(None), Client(None), Client(None), Client(None), Client("i"), Client("j")]

    def _next_id(self) -> str:
        return self.forced.pop(0) if self.forced else "?"

    def version(self, key: int, lowest: int = 0) -> int:
        low, high = self.releases[key]
        return self.rng.randint(max(low, lowest), high)

    # -- asking both

    def ask(self, message: Any, key: int, version: int, client: Client | None = None) -> None:
        known = set(self.world.group(self.group).members) if self.world.cluster.coordinators.find(self.group) else set()
        self.told.append(f"v{version} {message}")
        wire = Wire(self.address, message, key, version, "c")
        must_answer = key != 14 and not (key == 11 and (message.member_id or message.group_instance_id is not None or version < 4))
        answer = wire.answer(5 if must_answer else SETTLE_SECONDS)
        self._force_new_id(answer, message, known)
        asked = self.world.send(message, key, version, client="c", host="/127.0.0.1")
        self.world.fire()
        self.parked.append((wire, asked, client))
        self.settle(answer, wire)

    def _force_new_id(self, answer: Any, message: Any, known: set[str]) -> None:
        if not isinstance(message, JoinGroupRequest) or message.member_id:
            return
        new = answer.member_id if answer is not None else ""
        end = time.monotonic() + 3
        while not new and time.monotonic() < end:  # it is parked: DescribeGroups knows the id
            new = next(iter(self.real_members() - known), "")
        if new:
            self.forced = [new[-36:]]

    def real_members(self) -> set[str]:
        """Who is in the group, as the real broker says."""
        return {one.member_id for one in self.real_group().members}

    def real_group(self) -> Any:
        version = self.releases[15][1]
        answer = Wire(self.address, DescribeGroupsRequest(groups=[self.group]), 15, version, "c").answer(5)
        assert answer is not None, "the broker does not describe the group"
        return answer.groups[0]

    def settle(self, early: Any = None, wire: Wire | None = None) -> None:
        """Compare what is answered on either side and what both describe."""
        still = []
        for one, asked, client in self.parked:
            real = early if one is wire and early is not None else one.answer(2.0 if asked.answer is not None else 0.005)
            if asked.answer is None and real is None:
                if asked.abandoned is None:
                    still.append((one, asked, client))
                else:
                    self.mute.append(one)
                continue
            self.told.append(f"   -> {real}")
            # Through our own codec, so that fields a version does not have are at their defaults on both sides.
            codec = APIS[one.key].response
            mock = None if asked.answer is None else codec.decode(one.version, codec.encode(one.version, asked.answer))
            assert real == mock, self.story(f"Kafka: {real}\nmock:  {mock} (abandoned: {asked.abandoned})")
            if client is not None:
                self._digest(client, asked)
        self.parked = still
        self.describe()

    def describe(self) -> None:
        """Both describe the group alike, member order included."""
        version = self.releases[15][1]
        real = self.real_group()
        codec = APIS[15].response
        mock = self.world.send(DescribeGroupsRequest(groups=[self.group]), 15, version).answer
        mock = codec.decode(version, codec.encode(version, mock)).groups[0]  # type: ignore[attr-defined]  # found by its key
        assert real == mock, self.story(f"Kafka: {real}\nmock:  {mock}")

    def _digest(self, client: Client, asked: Asked) -> None:
        key, answer = asked.request.key, asked.answer
        if key not in (11, 12, 14):
            return
        if key == 11 and answer.error_code in (0, 79):
            client.member_id, client.generation = answer.member_id, answer.generation_id
        elif answer.error_code in (25, 82):
            client.member_id, client.generation = "", -1

    def story(self, what: str) -> str:
        return "\n".join([*self.told[-60:], what])

    # -- what is asked

    def step(self) -> None:
        action = self.rng.choice(LIKELY)
        if self.rng.random() < 0.25 and self.relieve():
            return
        getattr(self, action)(self._pick(action))
        group = self.world.cluster.coordinators.find(self.group)
        if (
            group is not None
            and str(group.state) == "PreparingRebalance"
            and str(group.previous_state) == "Empty"
            and self.rng.random() < 0.4
        ):
            self.wait_for_initial_delay()

    def _pick(self, action: str) -> Client:
        free = [one for one in self.clients if not any(client is one for _, _, client in self.parked)] or self.clients
        if action == "join" and self.rng.random() < 0.6:
            free = [one for one in free if one.member_id and one.member_id != "ghost"] or free
        if action == "sync":
            group = self.world.cluster.coordinators.find(self.group)
            owing = [one for one in free if group is not None and one.member_id and one.generation == group.generation]
            free = owing or free
        return self.rng.choice(free if self.rng.random() < 0.95 else self.clients)

    def wait_for_initial_delay(self) -> None:
        """Both sides finish the initial phase."""
        end = time.monotonic() + 60
        while self.real_group().group_state == "PreparingRebalance":
            assert time.monotonic() < end, self.story("the real group never leaves PreparingRebalance")
            time.sleep(0.05)
        self.world.finish_phase(self.group)
        self.told.append("(the initial delay is over)")
        self.settle()

    def join(self, client: Client) -> None:
        version = self.version(11, 5 if client.instance is not None else self.lowest_join)
        protocols = [JoinGroupRequestProtocol(name=name, metadata=data) for name, data in LISTS[client.list_at]]
        message = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000 if version else -1,
            member_id=client.member_id,
            group_instance_id=client.instance if version >= 5 else None,
            protocol_type="consumer",
            protocols=protocols,
        )
        self.ask(message, 11, version, client)

    def sync(self, client: Client) -> None:
        version = self.version(14, 3 if client.instance is not None else 0)
        group = self.world.cluster.coordinators.find(self.group)
        assignments = []
        if group is not None and group.leader_id == client.member_id:
            named = sorted(group.members)[: self.rng.randint(0, 6)]
            assignments = [SyncGroupRequestAssignment(member_id=one, assignment=f"{group.generation} {one}".encode()) for one in named]
        message = SyncGroupRequest(
            group_id=self.group,
            generation_id=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance if version >= 3 else None,
            protocol_type="consumer" if version >= 5 else None,
            protocol_name=((group.protocol_name if group else "") or "range") if version >= 5 else None,
            assignments=assignments,
        )
        self.ask(message, 14, version, client)

    def heartbeat(self, client: Client) -> None:
        version = self.version(12, 3 if client.instance is not None else 0)
        message = HeartbeatRequest(
            group_id=self.group,
            generation_id=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance if version >= 3 else None,
        )
        self.ask(message, 12, version)

    def leave(self, client: Client) -> None:
        version = self.version(13)
        message = LeaveGroupRequest(group_id=self.group, member_id=client.member_id)
        if version >= 3:
            other = self.rng.choice(self.clients)
            by_instance = MemberIdentity(member_id="" if self.rng.random() < 0.5 else client.member_id, group_instance_id=client.instance)
            entries = [by_instance] if self.rng.random() < 0.7 else [by_instance, MemberIdentity(member_id=other.member_id)]
            message = LeaveGroupRequest(group_id=self.group, members=entries)
        self.ask(message, 13, version)

    def commit(self, client: Client) -> None:
        version = self.version(8, 7 if client.instance is not None else 2)
        version = min(version, 9)
        topics = [
            OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    OffsetCommitRequestPartition(partition_index=self.rng.randint(0, 5), committed_offset=self.rng.randint(0, 99))
                    for _ in range(self.rng.randint(1, 3))
                ],
            )
            for name in self.rng.sample(("orders", "nope", "pay", "mail"), self.rng.randint(1, 4))
        ]
        message = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance if version >= 7 else None,
            topics=topics,
        )
        self.ask(message, 8, version)

    def fetch(self, client: Client) -> None:
        version = self.version(9, 1)
        names = self.rng.sample(("orders", "nope", "pay", "mail"), self.rng.randint(1, 4))
        if version < 8:
            old = [OffsetFetchRequestTopic(name=name, partition_indexes=self._indexes()) for name in names]
            self.ask(OffsetFetchRequest(group_id=self.group, topics=old), 9, version)
        else:
            new = [OffsetFetchRequestTopics(name=name, partition_indexes=self._indexes()) for name in names]
            groups = [OffsetFetchRequestGroup(group_id=self.group, topics=new)]
            self.ask(OffsetFetchRequest(groups=groups), 9, min(version, 9))

    def _indexes(self) -> list[int]:
        return [self.rng.randint(0, 5) for _ in range(self.rng.randint(1, 4))]

    def relieve(self) -> bool:
        """Take out of a rebalance what nobody holds any more: forgotten reservations and members."""
        group = self.world.cluster.coordinators.find(self.group)
        if group is None or str(group.state) != "PreparingRebalance" or str(group.previous_state) == "Empty":
            return False
        held = {one.member_id for one in self.clients} | {asked.request.message.member_id for _, asked, _ in self.parked}  # type: ignore[attr-defined]
        lost = sorted((group.pending_joins | group.members.keys()) - held)
        if lost:
            members = [MemberIdentity(member_id=self.rng.choice(lost))]
            self.ask(LeaveGroupRequest(group_id=self.group, members=members), 13, self.version(13, 3))
        return bool(lost)

    def change(self, client: Client) -> None:
        client.list_at = self.rng.randrange(len(LISTS))

    def crash(self, client: Client) -> None:
        client.member_id, client.generation = "", -1

    def ghost(self, client: Client) -> None:
        client.member_id = "ghost"

    def close(self) -> None:
        for wire, _, _ in self.parked:
            wire.close()
        for wire in self.mute:
            wire.close()


# -- as a program, started by `oracle/kafka.py run` --------------------------------------------------------------------


def ready(address: tuple[str, int], lowest_create: int) -> None:
    """Make the topics and wait until every partition of __consumer_offsets has a leader that has loaded it."""
    topics = [CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in TOPICS.items()]
    Wire(address, CreateTopicsRequest(topics=topics, timeout_ms=10_000), 19, lowest_create, "c").answer(20)
    names, end = [f"probe-{at}" for at in range(60)], time.monotonic() + 60
    while time.monotonic() < end:
        found = Wire(address, FindCoordinatorRequest(key=names[0]), 10, 2, "c").answer(5)
        told = Wire(address, DescribeGroupsRequest(groups=names), 15, 5, "c").answer(5)
        if found is not None and told is not None and not found.error_code and not any(one.error_code for one in told.groups):
            return
        time.sleep(0.1)
    raise TimeoutError("the broker's coordinators did not come up")


def main() -> int:
    """Run seeds until one differs; 1 if one did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="kafka-4.3")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10))
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--max-size", type=int, default=2**31 - 1)
    asked = parser.parse_args()
    profile = profiles.load(asked.profile)
    host, _, port = os.environ["KAFKA_BOOTSTRAP"].split(",")[0].rpartition(":")
    address = (host, int(port))
    ready(address, max(2, profile.versions[19][0]))
    quirks = Quirks(**dict.fromkeys(profile.quirks, True))
    for seed in range(*asked.seeds):
        group = f"twin-{seed}-{time.time_ns() % 10**6}"
        lowest = 5 if asked.profile == "kafka-2.8" else 0
        twin = Twin(address, group, random.Random(seed), dict(profile.versions), quirks, asked.max_size, lowest)
        try:
            for _ in range(asked.steps):
                twin.step()
        except AssertionError as difference:
            print(f"seed {seed} differs after {len(twin.told)} lines\n{difference}")
            return 1
        finally:
            twin.close()
        print(f"seed {seed}: equal, {len(twin.world.asked)} requests, {len(twin.world.moves())} moves", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
