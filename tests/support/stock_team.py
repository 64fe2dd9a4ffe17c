"""What the tests of stock clients stand on: a cluster's view, a team of members, members in processes that can be killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from stock_members import PATIENCE, LoopThread, Member, Partition, ThreadMember, Wish, open_member, until

CHILD = Path(__file__).with_name("stock_child.py")


class Group(Protocol):
    """What a test asks about a group; groupmock's GroupView has it, and so has `Seen`."""

    @property
    def state(self) -> str: ...
    @property
    def protocol_name(self) -> str | None: ...
    @property
    def members(self) -> Sequence[Any]: ...
    @property
    def offsets(self) -> dict[str, dict[int, int]]: ...


class Cluster(Protocol):
    """The part of the `groupmock` fixture that these tests use; `Elsewhere` has the same for any other broker."""

    @property
    def bootstrap(self) -> str: ...
    @property
    def groups(self) -> Any: ...
    def create_topic(self, name: str, partitions: int = 1) -> None: ...
    def produce(self, topic: str, value: bytes | None, key: bytes | None = None, partition: int = 0) -> int: ...
    def records(self, topic: str) -> Sequence[Any]: ...
    def wait_for(self, group: str, state: str | None = None, members: int | None = None, *, timeout: float = 10.0) -> Any: ...


@dataclass(frozen=True)
class Seen:
    """A group as an admin client sees it."""

    state: str
    protocol_name: str | None
    members: list[Any] = field(default_factory=list)
    offsets: dict[str, dict[int, int]] = field(default_factory=dict)


class Child:
    """A member in another process; `kill` ends it as a crash does: no LeaveGroup, the kernel closes its sockets."""

    def __init__(self, library: str, wish: Wish) -> None:
        self.library = library
        self._state: dict[str, Any] = {"owned": [], "generation": -1, "values": 0}
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD), library, json.dumps(wish.plain())],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._state = json.loads(line)

    def owned(self) -> set[Partition]:
        """What it last said to hold."""
        return {(topic, partition) for topic, partition in self._state["owned"]}

    def check(self) -> None:
        """Raise if it ended by itself."""
        if self._process.poll() is not None:
            assert self._process.stderr is not None
            raise AssertionError(f"{self.library} child ended with {self._process.returncode}: {self._process.stderr.read()[-2000:]}")

    def kill(self) -> float:
        """SIGKILL; returns when, on the monotonic clock. Idempotent."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        when = time.monotonic()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        return when


class Team:
    """The members of one test; everything it started ends with it."""

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self._thread = LoopThread()
        self._members: list[Member] = []
        self._children: list[Child] = []

    def join(self, library: str, **changes: Any) -> Member:
        """Start a member: the team's wish with some of its fields changed."""
        member = open_member(library, replace(self.wish, **{"client_id": f"{library}-{len(self._members)}"} | changes), self._thread)
        self._members.append(member)
        return member

    def join_child(self, library: str, **changes: Any) -> Child:
        """Start a member in a process of its own."""
        child = Child(library, replace(self.wish, **{"client_id": f"{library}-child-{len(self._children)}"} | changes))
        self._children.append(child)
        return child

    def close(self) -> None:
        """Stop everybody, all blocking members at once."""
        for child in self._children:
            child.kill()
        for member in self._members:
            if isinstance(member, ThreadMember):
                member.start_stopping()
        for member in self._members:
            member.stop()
        self._thread.close()


def partitions(topic: str, count: int) -> set[Partition]:
    """Every partition of a topic."""
    return {(topic, index) for index in range(count)}


def settled(members: Iterable[Member | Child], wanted: set[Partition], sizes: Iterable[int] | None = None,
            patience: float = PATIENCE) -> None:
    """Block until the members hold exactly `wanted` among them, each partition once (and, sorted, that many each)."""
    people = list(members)
    expected = sorted(sizes) if sizes is not None else None

    def done() -> bool:
        for each in people:
            each.check()
        held = [each.owned() for each in people]
        flat = [partition for each in held for partition in each]
        return len(flat) == len(set(flat)) and set(flat) == wanted and expected in (None, sorted(map(len, held)))

    until(f"{len(people)} members to hold {len(wanted)} partitions" + (f" as {expected}" if expected else ""),
          done, lambda: [(each.library, sorted(each.owned())) for each in people], patience)


def delivered(members: Iterable[Member], wanted: Iterable[bytes], patience: float = PATIENCE) -> None:
    """Block until all of `wanted` came to the members; then insist that each came once and nothing else did."""
    people, expected = list(members), sorted(wanted)

    def values() -> list[bytes]:
        return sorted(value for each in people for value in each.values())

    until(f"{len(expected)} records", lambda: len(values()) >= len(expected), lambda: f"{len(values())} records", patience)
    missing, surplus = Counter(expected) - Counter(values()), Counter(values()) - Counter(expected)
    assert not missing and not surplus, f"missing {dict(missing)}, surplus {dict(surplus)}"


def produce(cluster: Cluster, topic: str, name: str, count: int = 30, across: Sequence[int] = range(6)) -> list[bytes]:
    """`count` records over these partitions in turn; returns their values, which no other `name` has."""
    values = [f"{name}-{index}".encode() for index in range(count)]
    for index, value in enumerate(values):
        cluster.produce(topic, value=value, key=str(index).encode(), partition=across[index % len(across)])
    return values
