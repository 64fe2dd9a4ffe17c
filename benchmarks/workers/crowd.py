"""Measures how peers that pipeline as fast as they can, or never read, disturb a measured client and three stock members.

    python -m benchmarks.workers.crowd [--loop uvloop|asyncio] [--seconds 5] [CASE...]

A case is COUNT and KIND, as in 1:Heartbeat, 20:all or 200:silent; without any, all of `CASES` run. Each case runs against a fresh server on
the server core and prints one JSON line: the bystander's median, p99 and longest round trip (ApiVersions once a millisecond), the members'
callbacks since they had settled (0: no rebalance), whether they hold the whole topic, the server's share of its core, and the seconds from
SIGTERM to its end while the peers go on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final

from groupmock_clients.scenarios.live.members.channel import Channel
from groupmock_codec import APIS
from groupmock_codec.headers import RequestHeader, encode_request_header
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.records import NewRecord, encode_batch

from .. import servers
from ..figures.heartbeats import Start
from ..figures.storm import Watcher
from ..generators import Failed, RunningServer, compiled
from ..machine import Cores, cpu_seconds, pinned
from .consumers import Holdings, specs

TOPIC: Final = "crowd"
PARTITIONS: Final = 12
MEMBERS: Final = 3
DEPTH: Final = 2000
"""The number of requests in flight per peer, which is more than any one read holds."""
PATIENCE_S: Final = 40.0


def asked() -> dict[str, tuple[int, int, Any]]:
    """Return the requests that the peers send: name -> (api, version, request)."""
    batch = encode_batch([NewRecord(value=b"x" * 100)])
    produced = [PartitionProduceData(index=0, records=batch)]
    return {
        "Heartbeat": (12, 4, HeartbeatRequest(group_id="nobody", generation_id=1, member_id="nobody")),
        "Metadata": (3, 5, MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])),
        "Fetch": (1, 4, FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic=TOPIC, partitions=[FetchPartition(partition=0)])])),
        "OffsetFetch": (9, 5, OffsetFetchRequest(group_id="crowd", topics=[OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])])),
        "Produce": (0, 7, ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="heap", partition_data=produced)])),
    }  # fmt: skip


CASES: Final = (*(f"1:{kind}" for kind in ("Heartbeat", "Metadata", "Fetch", "OffsetFetch", "Produce")), "20:all", "100:all", "200:silent")


def payloads(kind: str) -> list[bytes]:
    """Return the requests of a kind, each without its length. `all` and `silent` mean every kind."""
    chosen = asked() if kind in ("all", "silent") else {kind: asked()[kind]}
    return [
        encode_request_header(RequestHeader(api_key=key, api_version=version, correlation_id=0, client_id="crowd"))
        + APIS[key].request.encoder(version)(message)
        for key, version, message in chosen.values()
    ]


@contextmanager
def pipelining(server: RunningServer, cores: Cores, count: int, kind: str) -> Iterator[None]:
    """Run `count` peers that keep thousands of requests in flight."""
    words = [word for payload in payloads(kind) for word in ("-x", payload.hex())]
    command = [str(compiled("kload")), "-c", str(count), "-d", str(DEPTH), "-n", "4000000000", "-w", "0", "-t", "600", *words, "-j"]
    with pinned(cores.load):
        process = subprocess.Popen([*command, server.host, str(server.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def silent(server: RunningServer, count: int) -> Iterator[None]:
    """Run `count` peers that send until the server accepts no more, and read nothing."""
    peers = [socket.create_connection((server.host, server.port), 10) for _ in range(count)]
    kinds = payloads("silent")
    for number, peer in enumerate(peers):
        frame = kinds[number % len(kinds)]
        peer.setblocking(False)
        try:
            while True:
                peer.send((len(frame).to_bytes(4, "big") + frame) * 500)
        except BlockingIOError:
            pass
    try:
        yield
    finally:
        for peer in peers:
            peer.close()


class Members:
    """Three stock aiokafka consumers in a process of their own."""

    def __init__(self, server: RunningServer, cores: Cores) -> None:
        command = [sys.executable, "-m", "benchmarks.workers.crowd", "--members", f"{server.host}:{server.port}"]
        with pinned(cores.load):
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=servers.ROOT, env=servers.environment())
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise Failed("the members did not settle")

    def readings(self) -> dict[str, int]:
        """End the members and return their report since they had settled."""
        self.process.terminate()
        readings: dict[str, int] = json.loads(self.process.communicate(timeout=PATIENCE_S)[0])
        return readings


class Counting(Channel):
    """Counts the rebalance callbacks of a consumer after all members have settled."""

    def __init__(self, number: int, holdings: Holdings) -> None:
        self._number, self._holdings = number, holdings
        self.calls = 0

    def callback(self, event: str, partitions: Iterable[Any]) -> None:
        self.calls += 1
        if event == "assigned":
            self._holdings.assign(self._number, [each.partition for each in partitions])
        else:
            self._holdings.revoke(self._number)


async def be_members(bootstrap: str) -> None:
    """Join the group, announce it on stdout, and count the callbacks until SIGTERM."""
    from groupmock_clients.scenarios.live.members.aiokafka import consume

    settled, ended = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    holdings = Holdings(MEMBERS, PARTITIONS, settled.set)
    channels = [Counting(number, holdings) for number in range(MEMBERS)]
    consuming = [asyncio.create_task(consume(*each)) for each in zip(specs("aiokafka", MEMBERS, bootstrap, TOPIC), channels, strict=True)]
    await asyncio.wait_for(settled.wait(), PATIENCE_S)
    for each in channels:
        each.calls = 0
    print("settled", flush=True)
    await ended.wait()
    whole = holdings.complete() and not any(each.done() for each in consuming)
    print(json.dumps({"callbacks": sum(each.calls for each in channels), "whole": whole}), flush=True)
    os._exit(0)


def product(cores: Cores) -> AbstractContextManager[RunningServer]:
    """Start groupmock with the topics that the peers' requests name."""
    return servers.groupmock(cores, "--topic", f"{TOPIC}:{PARTITIONS}", "--topic", "heap:1")


def measured(case: str, cores: Cores, seconds: float, start: Start = product) -> dict[str, Any]:
    """Run one case against a fresh server and return the report that the module's docstring describes, with waits in ms.

    A peer has no topic for the members and therefore runs without them. Raises Failed or Missing.
    """
    count, _, kind = case.partition(":")
    with ExitStack() as stack:
        server = stack.enter_context(start(cores))
        members = Members(server, cores) if start is product else None
        watcher = Watcher(cores, "bystander", server.host, str(server.port))
        stack.enter_context(watcher)
        crowd = silent(server, int(count)) if kind == "silent" else pipelining(server, cores, int(count), kind)
        with crowd:
            before = cpu_seconds(server.pid)
            time.sleep(seconds)
            busy = (cpu_seconds(server.pid) - before) / seconds
            watcher.report()
            readings = members.readings() if members is not None else {}
            begin = time.monotonic()
            os.kill(server.pid, signal.SIGTERM)
            while time.monotonic() - begin < PATIENCE_S and _lives(server.pid):
                time.sleep(0.01)
            ended = time.monotonic() - begin
    return {"case": case, **watcher.readings, **readings, "server_cpu": round(busy, 2), "sigterm_s": round(ended, 2)}


def _lives(pid: int) -> bool:
    """Return whether a process is alive, which a zombie (a child that has ended and was not waited for) is not."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--members", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.members:
        asyncio.run(be_members(chosen.members))
    os.environ["GROUPMOCK_LOOP"] = chosen.loop
    for case in chosen.cases or CASES:
        print(json.dumps({"loop": chosen.loop} | measured(case, Cores.available(), chosen.seconds)), flush=True)


if __name__ == "__main__":
    main()
