"""Checks whether a server grows when it meets only new ids: `python -m benchmarks.workers.churn MINUTES [LIVES_PER_MINUTE]`

One server runs in this process with a journal file, a log (to /dev/null) and the control API; the load is a process of its own. Every
client has ids of its own: connection, client id, group, member (dynamic or static), topic, producer, transactional id, fetch session,
groups that refuse it, and names that it asks the control API about. Half of the clients leave or commit; the others vanish or abort. Each
minute has the same number of lives, because resident memory follows the number of simultaneous clients. At the end of a minute all clients
are gone, and the clock advances until everything that Kafka keeps for a while has expired (sessions, offsets, producers, transactional ids,
idle connections: see the settings below). Then a line of JSON reports memory: `rss_kb`, `blocks` (sys.getallocatedblocks) and the lives so
far.

The last line compares the last minute with minute 5 (3 % are allowed), or with the second minute of a short run. `span_mb` is the
difference between the largest and the smallest resident memory of the last ten minutes: 4 MB are allowed. The status is 1 if memory grew.
CHURN_TYPES=1 in the environment also prints the types of objects that have become more since the minute before. Bounded caches (recent
rows, client ids, groups' places) are full after some 2,500 lives.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

from groupmock.config.resolve import resolve
from groupmock.control.start import start_control
from groupmock.core.events import Command
from groupmock.rig.wire import Client
from groupmock.server.assembly import start
from groupmock.server.running import Running
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k20_delete_topics import DeleteTopicsRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from groupmock_codec.records import TRANSACTIONAL_BIT, NewRecord, encode_batch

SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "10000",
    "producer.id.expiration.ms": "60000",
    "transactional.id.expiration.ms": "60000",
    "log.retention.bytes": "100000",
    "max.incremental.fetch.session.cache.slots": "100",
}
"""Settings that turn Kafka's retention times of days into a minute, and its limit of a thousand into a hundred, so that a slow machine
reaches both."""
EXPIRED_MS: Final = 30 * 60_000
"""The time in ms after which everything unused has expired."""
MINUTE_S: Final = 60
COMPARED: Final = 5
ALLOWED: Final = 0.03
LAST_MINUTES: Final = 10
ALLOWED_MB: Final = 4
"""The growth that is allowed in a run of at least twice the last minutes, in which every bounded cache is full."""
STEADY: Final = "steady"
"""A topic that exists from the beginning to the end of the check. New producers must leave nothing behind in it."""
CONTROL_EVERY: Final = 10
SUBSCRIPTION: Final = b"\0\0\0\0\0\1\0\6steady\xff\xff\xff\xff"


# -- the load ----------------------------------------------------------------------------------------------------------


class Life:
    """One client of the check from its first to its last request. All its ids contain its number."""

    def __init__(self, port: int, number: int) -> None:
        self.number, self.name = number, f"n{number}"
        self.client = Client("127.0.0.1", port, client_id=f"client-{number}")
        self.instance = f"instance-{number}" if number % 4 == 0 else None

    def live(self) -> None:
        """Send everything that a group member and a producer send."""
        ask, topic = self.client.ask, f"topic-{self.number}"
        ask(18, 3, ApiVersionsRequest(client_software_name=self.name, client_software_version="1"))
        ask(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True))
        producer = ask(22, 4, InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)).producer_id
        for each in (topic, STEADY):
            self._produce(each, producer)
        self._fetch(topic)
        self._join(topic)
        self._refused()
        self._transaction(topic)
        ask(15, 5, DescribeGroupsRequest(groups=[self.name, f"unknown-{self.number}"]))
        ask(20, 5, DeleteTopicsRequest(topic_names=[topic], timeout_ms=1000))
        self.client.close()

    def _produce(self, topic: str, producer: int, transactional_id: str | None = None) -> None:
        record = NewRecord(key=None, value=b"x" * 100, headers=[], timestamp=int(time.time() * 1000))
        attributes = TRANSACTIONAL_BIT if transactional_id is not None else 0
        batch = encode_batch([record], producer_id=producer, producer_epoch=0, base_sequence=0, attributes=attributes)
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
        acks = 1 if transactional_id is None else -1
        self.client.ask(0, 7, ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=1000, topic_data=[data]))

    def _fetch(self, topic: str) -> None:
        wanted = [FetchTopic(topic=each, partitions=[FetchPartition(partition=0, partition_max_bytes=1000)]) for each in (topic, STEADY)]
        self.client.ask(1, 11, FetchRequest(max_bytes=1000, session_epoch=0, topics=wanted))

    def _refused(self) -> None:
        """Send requests about groups that are never created, because each request names an unknown member or too short a session."""
        joining = JoinGroupRequest(
            group_id=f"short-{self.name}",
            session_timeout_ms=1,
            rebalance_timeout_ms=1,
            member_id=self.name,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
        )
        nobody: dict[str, Any] = {"generation_id": 1, "member_id": self.name}
        self.client.ask(11, 5, joining)
        self.client.ask(14, 3, SyncGroupRequest(group_id=f"sync-{self.name}", **nobody))
        self.client.ask(12, 3, HeartbeatRequest(group_id=f"beat-{self.name}", **nobody))
        beat = ConsumerGroupHeartbeatRequest(group_id=f"consumer-{self.name}", member_id=self.name, member_epoch=5)
        self.client.ask(68, 0, beat)

    def _transaction(self, topic: str) -> None:
        """Run a transaction that commits, aborts, or stays open until it times out."""
        ask, name = self.client.ask, f"transaction-{self.number}"
        producer = ask(22, 4, InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000))
        by = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
        topics = [AddPartitionsToTxnTopic(name=each, partitions=[0]) for each in (topic, STEADY)]
        adding = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=topics,
        )
        ask(24, 3, adding)
        for each in (topic, STEADY):
            self._produce(each, producer.producer_id, name)
        if self.number % 8:
            ask(26, 3, EndTxnRequest(transactional_id=name, committed=bool(self.number % 2), **by))

    def _join(self, topic: str) -> None:
        ask = self.client.ask
        ask(10, 3, FindCoordinatorRequest(key=self.name, key_type=0))
        joining = JoinGroupRequest(
            group_id=self.name,
            session_timeout_ms=6000,
            rebalance_timeout_ms=6000,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=f"assignor-{self.number}", metadata=SUBSCRIPTION)],
        )
        joined = ask(11, 6, joining)
        if joined.error_code == MEMBER_ID_REQUIRED:
            joining.member_id = joined.member_id
            if self.number % 8 == 1:
                return  # This client has got a reserved member id and never comes back.
            joined = ask(11, 6, joining)
        member, generation = joined.member_id, joined.generation_id
        ids = {"group_id": self.name, "generation_id": generation, "member_id": member, "group_instance_id": self.instance}
        ask(14, 4, SyncGroupRequest(**ids, assignments=[SyncGroupRequestAssignment(member_id=member, assignment=b"mine")]))
        for _ in range(3):
            ask(12, 4, HeartbeatRequest(**ids))
        row = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=self.name)
        commit = [OffsetCommitRequestTopic(name=each, partitions=[row]) for each in (topic, STEADY)]
        ask(
            8,
            7,
            OffsetCommitRequest(
                group_id=self.name,
                generation_id_or_member_epoch=generation,
                member_id=member,
                group_instance_id=self.instance,
                topics=commit,
            ),
        )
        if self.number % 2:
            ask(13, 4, LeaveGroupRequest(group_id=self.name, members=[MemberIdentity(member_id=member, group_instance_id=self.instance)]))


def ask_control(url: str, number: int) -> None:
    """Ask the control API for a group that exists and one that does not, for metrics, and for a fault rule that is added and removed."""
    rule = {"name": f"rule-{number}", "when": f'client = "client-{number}"', "then": {"delay": {"ms": 1}}}
    asked = (
        ("GET", f"/v1/groups/n{number}", None),
        ("GET", f"/v1/groups/nobody-{number}", None),
        ("GET", "/metrics", None),
        ("GET", f"/v1/journal/count?group=n{number}", None),
        ("POST", "/v1/faults", rule),
        ("DELETE", f"/v1/faults/rule-{number}", None),
    )
    for method, path, body in asked:
        data = None if body is None else json.dumps(body).encode()
        wanted = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(wanted, timeout=30) as answer:
                answer.read()
        except OSError:  # The control API may answer 404, because the group may be gone.
            pass


def load(port: int, control: str) -> None:
    """Play lives one after the other, as many as each line of standard input says, and print a line after each batch."""
    numbers, number = count(1), 0
    for line in sys.stdin:
        for number in islice(numbers, int(line)):
            Life(port, number).live()
            if number % CONTROL_EVERY == 0:
                ask_control(control, number)
        print(number, flush=True)


# -- the server --------------------------------------------------------------------------------------------------------


def rss_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


async def rest(running: Running) -> None:
    """Wait until all clients are gone, advance the clock past every expiry, and run the sweeps."""
    while running.server.driver.connections:  # noqa: ASYNC110 - nothing tells it
        await asyncio.sleep(0.05)
    running.submit(Command("step_clock", {"ms": EXPIRED_MS}))
    running.produce(STEADY, 0, None, b"sweep", [], None)  # An append makes the broker remove expired producers.
    await asyncio.sleep(1)
    gc.collect()


async def minute(running: Running, child: asyncio.subprocess.Process, lives: int) -> dict[str, Any]:
    """Run this many lives of clients, wait for the rest of the minute, and return how much memory they left behind."""
    assert child.stdin is not None and child.stdout is not None
    ends = time.monotonic() + MINUTE_S
    child.stdin.write(f"{lives}\n".encode())
    lives = int(await child.stdout.readline())
    await asyncio.sleep(max(0.0, ends - time.monotonic()))
    await rest(running)
    timers = running.core.environment.timers
    found = {"lives": lives, "rss_kb": rss_kb(), "blocks": sys.getallocatedblocks(), "objects": len(gc.get_objects())}
    return {
        **found,
        "timers": len(timers),
        "groups": sum(1 for _ in running.cluster.groups.all()),
        "topics": len(running.cluster.topics.names()),
    }


def types() -> Counter[str]:
    """Count the objects that the garbage collector knows, by type."""
    return Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())


async def churn(minutes: int, lives: int) -> int:
    """Run the check of memory growth and return its exit status. The status is 0 if nothing grew."""
    with tempfile.TemporaryDirectory() as folder:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Standard error, which gets the log, is redirected to /dev/null.
        flags = {"port": 0, "log": "text", "control": "127.0.0.1:0", "journal": f"{folder}/journal.jsonl", "seed": 1}
        config = resolve(flags, list(SETTINGS.items()))
        running = await start(config, stories=True)
        control = await start_control(config, running)
        running.submit(Command("create_topic", {"name": STEADY, "partitions": 1}))
        words = [sys.executable, "-m", "benchmarks.workers.churn", "--load", str(running.ports[0]), control.url]
        child = await asyncio.create_subprocess_exec(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        rows, known = [], Counter[str]()
        try:
            for number in range(1, minutes + 1):
                os.truncate(f"{folder}/journal.jsonl", 0)  # The journal file is emptied, because it would otherwise grow.
                rows.append({"minute": number, **await minute(running, child, lives)})
                print(json.dumps(rows[-1]), flush=True)
                if os.environ.get("CHURN_TYPES"):
                    now = types()
                    print(dict((now - known).most_common(12)) if known else "", flush=True)
                    known = now
        finally:
            child.kill()
            await child.wait()
            await control.close()
            await running.close()
    return verdict(rows)


def verdict(rows: list[dict[str, Any]]) -> int:
    """Compare the memory after the last minute with that after the fifth, or after the second in a run that is too short."""
    before, after = rows[min(COMPARED, 2 if len(rows) <= COMPARED else COMPARED) - 1], rows[-1]
    grown = {name: round(after[name] / before[name] - 1, 4) for name in ("rss_kb", "blocks")}
    last = [row["rss_kb"] for row in rows[-LAST_MINUTES:]]
    span = round((max(last) - min(last)) / 1024, 1)
    print(json.dumps({"from_minute": before["minute"], "to_minute": after["minute"], "grown": grown, "span_mb": span}))
    return int(any(share > ALLOWED for share in grown.values()) or (len(rows) >= 2 * LAST_MINUTES and span > ALLOWED_MB))


def main(words: list[str]) -> int:
    if words[0] == "--load":
        load(int(words[1]), words[2])
        return 0
    return asyncio.run(churn(int(words[0]), int(words[1]) if len(words) > 1 else 1000))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
