"""Measures the longest pause of the event loop while the members of a large group join, settle, lose their leader and expire.

The members of the classic group send no heartbeat after they have settled. Their leader leaves, which begins a join phase, and all other
members expire with their sessions. The members of the consumer groups fall silent likewise. The pause is measured beside a bystander, as in
`storm`.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from groupmock_codec.api_keys import LEAVE_GROUP, LIST_GROUPS
from groupmock_codec.group_states import EMPTY

from .. import servers
from ..bench import Bench
from ..consumer_group import mixed_topics
from ..generators import Failed, RunningServer
from ..join import ResponseReader, SocketLink, compact, request, string
from ..machine import Cores
from ..targets import TARGETS
from . import consumers
from .storm import WATCHERS, storm

KEYS = tuple(key for key in TARGETS if key.startswith("pauses."))
MEMBERS = 10_000
MIXED_MEMBERS = 2_000
GROUP = "storm"
SESSION_MS = 6_000
CONSUMER_SESSION_MS = 20_000
"""A session timeout that the load generator, in Python, can keep until ten thousand members have settled."""
TRIES = 60
"""The seconds after the session timeout in which all members have to expire."""
ALONE_MS = 200
"""The first member joins so much earlier than the others, and therefore leads the group."""


def run(bench: Bench) -> None:
    members, mixed = int(bench.scaled(MEMBERS, 1000)), int(bench.scaled(MIXED_MEMBERS, 200))
    for _ in range(bench.repeat):
        bench.results.add("pauses.classic", bench.quiet.take(partial(classic, bench, members)))
        bench.results.add("pauses.consumers", bench.quiet.take(partial(consuming, bench, members, "consumer")))
        bench.results.add("pauses.mixed", bench.quiet.take(partial(consuming, bench, mixed, "mixed")))


def classic(bench: Bench, members: int) -> float:
    """Return the longest pause of a server whose classic group settles, loses its leader and expires."""
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-") as folder:
        heartbeats = Path(folder) / "heartbeats.hex"
        flags = ("-s", str(SESSION_MS), "-w", str(ALONE_MS), "-o", str(heartbeats))
        readings = storm(bench, members, flags=flags, watching=WATCHERS, afterwards=partial(_leader_leaves, heartbeats))
    return readings.watched["pause"]["longest_ms"]


def _leader_leaves(heartbeats: Path, server: RunningServer) -> None:
    leader = ResponseReader(bytes.fromhex(heartbeats.read_text().split("\n", 1)[0]))
    leader.at = 8  # The client id, the group, the generation and the member id follow the fixed part of the header.
    leader.string(), leader.string(), leader.int32()
    link = SocketLink.to(server.endpoint)
    left = link.call(LEAVE_GROUP, 0, string(GROUP) + string(leader.string()))
    if left[4:] != b"\0\0":
        raise Failed(f"LeaveGroup of the leader was answered with {left[4:].hex()}")
    link.sock.close()
    _expire(SESSION_MS, server)


def consuming(bench: Bench, members: int, kind: str) -> float:
    """Return the longest pause of a server whose consumer group settles and expires."""

    def start(cores: Cores) -> AbstractContextManager[RunningServer]:
        topics = mixed_topics(consumers.TOPIC) if kind == "mixed" else [consumers.TOPIC]
        flags = [word for topic in topics for word in ("--topic", f"{topic}:{members // len(topics)}")]
        timeouts = [f"group.consumer.{which}session.timeout.ms={CONSUMER_SESSION_MS}" for which in ("min.", "")]
        return servers.groupmock(cores, *flags, *(word for each in timeouts for word in ("--set", each)))

    return consumers.settled(bench, members, kind, start, partial(_expire, CONSUMER_SESSION_MS)).pause_ms


def _expire(session_ms: int, server: RunningServer) -> None:
    """Wait until the group is empty. Raises Failed if that takes too long."""
    link = SocketLink.to(server.endpoint)
    # ListGroups with a filter has a short answer, whereas a description would list all members and be a pause itself.
    body = b"\x02" + compact(EMPTY) + b"\0"
    time.sleep(session_ms / 1000)
    for _ in range(TRIES):
        frame = request(LIST_GROUPS, 4, 1, body, flexible=True)
        link.sock.sendall(len(frame).to_bytes(4, "big") + frame)
        while (answer := link.receive()) is None:
            pass
        if GROUP.encode() in answer:
            break
        time.sleep(1)
    else:
        raise Failed(f"the group is not empty {TRIES} s after its sessions of {session_ms} ms")
    link.sock.close()
