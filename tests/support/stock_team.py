"""The common parts of the tests of stock clients: a view of the cluster, a team of members, and members in processes that can be killed."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from stock_members import Member, MemberSpec, Partition, spec
from waiting import PATIENCE, until

from groupmock_clients.scenarios.live.forked_members import close_all
from groupmock_clients.scenarios.live.process import MemberProcess


class Group(Protocol):
    """The view of a group that a test needs, which groupmock's GroupView and `Seen` both implement."""

    @property
    def state(self) -> str: ...
    @property
    def protocol_name(self) -> str | None: ...
    @property
    def members(self) -> Sequence[Any]: ...
    @property
    def offsets(self) -> dict[str, dict[int, int]]: ...


class Cluster(Protocol):
    """The part of the `groupmock` fixture that these tests use, which `Elsewhere` implements for any other broker."""

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
    """A member in another process. `kill` ends it as a crash does: no LeaveGroup, the kernel closes its sockets."""

    def __init__(self, spec: MemberSpec, log: Path) -> None:
        self.library = spec.library
        self._owned: frozenset[Partition] = frozenset()
        self._process = MemberProcess(spec, log, self._hear)
        self.check = self._process.check

    def _hear(self, member: str, event: str, facts: dict[str, Any]) -> None:
        if event == "holds":
            self._owned = frozenset((topic, partition) for topic, partition in facts["partitions"])

    def owned(self) -> frozenset[Partition]:
        """Return the partitions that the member last reported."""
        return self._owned

    def kill(self) -> float:
        """Send SIGKILL and return the time on the monotonic clock. Idempotent."""
        when = time.monotonic()
        self._process.kill()
        return when


class Team:
    """The members of one test, by default of one group. Everything that the team started ends with it."""

    def __init__(self, bootstrap: str, group: str, topics: tuple[str, ...], goes_on: bool = False, **changes: Any) -> None:
        self.bootstrap, self.group, self.topics = bootstrap, group, topics
        self._goes_on, self._changes = goes_on, changes
        self._members: list[Member] = []
        self._children: list[Child] = []
        self._folder = tempfile.TemporaryDirectory(prefix="stock-team-")

    def _spec(self, library: str, name: str, changes: dict[str, Any]) -> MemberSpec:
        where = {"bootstrap": self.bootstrap, "group": self.group, "topics": self.topics}
        return spec(library, name, **{**where, **self._changes, **changes})

    def join(self, library: str, **changes: Any) -> Member:
        """Start a member with some fields of its settings changed."""
        member = Member(self._spec(library, f"{library}-{len(self._members)}", changes), self._goes_on)
        self._members.append(member)
        return member

    def join_child(self, library: str, **changes: Any) -> Child:
        name = f"{library}-child-{len(self._children)}"
        child = Child(self._spec(library, name, changes), Path(self._folder.name, name))
        self._children.append(child)
        return child

    def close(self) -> None:
        for child in self._children:
            child.kill()
        for member in self._members:
            member.start_stopping()
        for member in self._members:
            member.stop()
        if self._children:
            close_all()
        self._folder.cleanup()


def partitions(topic: str, count: int) -> frozenset[Partition]:
    return frozenset((topic, index) for index in range(count))


def settled(
    members: Iterable[Member | Child], wanted: Set[Partition], sizes: Iterable[int] | None = None, patience: float = PATIENCE
) -> None:
    """Wait until the members own exactly the partitions `wanted`, each once, and in shares of the sizes `sizes` if given."""
    people = list(members)
    expected = sorted(sizes) if sizes is not None else None

    def done() -> bool:
        for each in people:
            each.check()
        held = [each.owned() for each in people]
        flat = [partition for each in held for partition in each]
        return len(flat) == len(set(flat)) and set(flat) == wanted and expected in (None, sorted(map(len, held)))

    until(
        f"{len(people)} members to hold {len(wanted)} partitions" + (f" as {expected}" if expected else ""),
        done,
        lambda: [(each.library, sorted(each.owned())) for each in people],
        patience,
    )


def delivered(members: Iterable[Member], wanted: Iterable[bytes], patience: float = PATIENCE) -> None:
    """Wait until the members received all values in `wanted`, and check that each value came once and no other value did."""
    people, expected = list(members), sorted(wanted)

    def values() -> list[bytes]:
        return sorted(value for each in people for value in each.values())

    until(f"{len(expected)} records", lambda: len(values()) >= len(expected), lambda: f"{len(values())} records", patience)
    missing, surplus = Counter(expected) - Counter(values()), Counter(values()) - Counter(expected)
    assert not missing and not surplus, f"missing {dict(missing)}, surplus {dict(surplus)}"


def produce(cluster: Cluster, topic: str, name: str, count: int = 30, across: Sequence[int] = range(6)) -> list[bytes]:
    """Write `count` records to these partitions in turn and return their values, which are unique per `name`."""
    values = [f"{name}-{index}".encode() for index in range(count)]
    for index, value in enumerate(values):
        cluster.produce(topic, value=value, key=str(index).encode(), partition=across[index % len(across)])
    return values
